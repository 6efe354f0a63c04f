/** The inspector's page: a run comes in, the reader looks around in it. */
import { ChartView } from './chart-view.ts';
import { Control, say } from './control.ts';
import { ConversationTab } from './conversation-tab.ts';
import { CoverageTab } from './coverage-tab.ts';
import { el, need, set } from './dom.ts';
import { EventsTab } from './events-tab.ts';
import { Header, startSplitter, startTheme } from './header.ts';
import { startKeys } from './keys.ts';
import { Notice } from './notice.ts';
import { ReasonsTab } from './reasons-tab.ts';
import { RequestsTab } from './requests-tab.ts';
import { Run } from './run.ts';
import { ServicesTab } from './services-tab.ts';
import { type Listener, LiveSource, RecordingSource, type Source } from './source.ts';
import { StepTab } from './step-tab.ts';
import type { Tab } from './tab.ts';
import { Timeline } from './timeline.ts';
import { type TabName, tabNames, View } from './view.ts';

const embedded = document.getElementById('recording');
const view = new View(new Run());
let source: Source = new LiveSource();

new Header(view);
const notice = new Notice();
const control = new Control(view, () => source);
const chartView = new ChartView(view, (state) => control.toggle(state));
new Timeline(view);
const events = new EventsTab(view);
const tabs: Readonly<Record<TabName, Tab>> = {
  step: new StepTab(view, () => source),
  conversation: new ConversationTab(view, () => source),
  requests: new RequestsTab(view, () => source),
  events,
  reasons: new ReasonsTab(view),
  services: new ServicesTab(view),
  coverage: new CoverageTab(view),
};
const titles: Readonly<Record<TabName, string>> = {
  step: 'Step',
  conversation: 'Messages',
  requests: 'Requests',
  events: 'Events',
  reasons: 'Reasons',
  services: 'Services',
  coverage: 'Coverage',
};

function startTabs(): void {
  const list = need('tabs');
  for (const [place, name] of tabNames.entries()) {
    const tab = el('button', titles[name], el('span.badge'));
    tab.type = 'button';
    set(tab, { role: 'tab', id: `tab-${name}`, 'aria-controls': `panel-${name}` });
    tab.addEventListener('click', () => view.show(name));
    list.append(tab);
    const panel = set(el('section.panel', tabs[name].element), {
      id: `panel-${name}`,
      role: 'tabpanel',
      tabindex: 0,
      'aria-labelledby': `tab-${name}`,
    });
    need('panels').append(panel);
    tab.addEventListener('keydown', ({ key }) => {
      const to = key === 'ArrowRight' ? place + 1 : key === 'ArrowLeft' ? place - 1 : undefined;
      const next =
        to === undefined ? undefined : tabNames[(to + tabNames.length) % tabNames.length];
      if (next === undefined) return;
      view.show(next);
      need(`tab-${next}`).focus();
    });
  }
}

/** Numbers behind the names are looked at once a frame at most, and cheap. */
function paintTabs(): void {
  for (const name of tabNames) {
    const isOpen = name === view.tab;
    const tab = need(`tab-${name}`);
    set(tab, { 'aria-selected': String(isOpen), tabindex: isOpen ? 0 : -1 });
    need(`panel-${name}`).hidden = !isOpen;
    const badge = tab.querySelector('.badge');
    const text = tabs[name].badge?.() ?? '';
    if (badge && badge.textContent !== text) badge.textContent = text;
  }
  tabs[view.tab].paint();
}

const listener: Listener = {
  hello(hello) {
    view.clockOffset = Date.now() - hello.now;
    view.run.begin(hello);
    for (const key of hello.charts) void loadChart(key);
    if (hello.unknown.length > 0)
      notice.say(`Not known of this run: ${hello.unknown.join(' · ')}.`);
    view.touchAll();
  },
  batch(batch) {
    const at = view.step?.seq;
    const fresh = view.run.add(batch);
    if (batch.base) view.standAt(at);
    for (const one of fresh) void loadChart(one.entry.chart);
    const newest = fresh.findLast(({ entry }) => entry.role !== 'agent') ?? fresh.at(-1);
    const hasNone = view.current === undefined;
    if (newest && (hasNone || (view.isLive && newest.entry.role !== 'agent')))
      view.instance = newest.id;
    if (hasNone && view.current === undefined) view.instance = [...view.run.instances.keys()][0];
    if (view.isLive) view.cursor = view.steps.length - 1;
    view.touchAll();
  },
  control(state) {
    view.run.control = state;
    view.touch('control', 'chart');
  },
  status(status, text) {
    const wasLost = view.connection === 'lost';
    view.connection = status;
    if (status === 'ended') view.run.ended = text ?? 'ended';
    if (status === 'lost') notice.lost();
    else if (wasLost) notice.close();
    if (status === 'connected') for (const key of [...view.missingCharts]) void loadChart(key);
    view.touchAll();
  },
};

const asked = new Set<string>();
async function loadChart(key: string | null): Promise<void> {
  if (key === null || asked.has(key)) return;
  asked.add(key);
  const from = source;
  const answer = await from.chart(key);
  if (from !== source) return;
  if (answer === undefined) {
    asked.delete(key);
    view.missingCharts.add(key);
    view.touch('chart');
    return;
  }
  view.missingCharts.delete(key);
  view.charts.set(key, { chart: answer.chart, svg: answer.svg, why: answer.why });
  view.touchAll();
}

/** Asked for when somebody wants to see it: most sessions have none. */
async function loadCoverage(): Promise<void> {
  const key = view.chart?.chart.key;
  if (view.tab !== 'coverage' || key === undefined || view.coverage.has(key)) return;
  view.coverage.set(key, null);
  view.coverage.set(key, (await source.coverage(key)) ?? null);
  view.touch('tab', 'chart');
}

function openSource(next: Source): void {
  source.close();
  source = next;
  notice.close();
  view.missingCharts.clear();
  view.run = new Run();
  asked.clear();
  view.charts.clear();
  view.coverage.clear();
  view.instance = undefined;
  view.cursor = -1;
  view.isLive = next.kind === 'live';
  // a recording is a file already
  for (const id of ['export-jsonl', 'export-html']) need(id).hidden = next.kind === 'recording';
  next.open(listener);
  if (next.kind === 'recording') {
    const first = [...view.run.instances.keys()][0];
    if (view.instance === undefined && first !== undefined) view.instance = first;
    view.cursor = view.steps.length - 1;
    view.touchAll();
  }
}

function openRecording(text: string): void {
  try {
    openSource(new RecordingSource(text));
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
  }
}

/** The menu closes when something in it, or anything else, is clicked. */
function startFile(): void {
  const menu = need<HTMLDetailsElement>('export');
  const input = need<HTMLInputElement>('open-file');
  need('open').addEventListener('click', () => input.click());
  input.addEventListener('change', () => {
    const [file] = input.files ?? [];
    if (file) void file.text().then(openRecording);
    input.value = '';
  });
  addEventListener('click', ({ target }) => {
    if (!(target as Element).closest('#export > summary')) menu.open = false;
  });
  menu.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape') return;
    menu.open = false;
    menu.querySelector('summary')?.focus();
  });
}

/** A recording that is dropped on the page is opened in place: nothing needs to run for it. */
function startDrop(): void {
  const curtain = need('drop');
  addEventListener('dragover', (event) => {
    event.preventDefault();
    curtain.hidden = false;
  });
  addEventListener('dragleave', (event) => {
    if (event.relatedTarget === null) curtain.hidden = true;
  });
  addEventListener('drop', (event) => {
    event.preventDefault();
    curtain.hidden = true;
    const file = event.dataTransfer?.files[0];
    if (file) void file.text().then(openRecording);
  });
}

startTheme(() => view.touchAll());
startSplitter();
startTabs();
startKeys(view, {
  fit: () => chartView.fit(),
  search: () => {
    view.show('events');
    paintTabs();
    events.focusSearch();
  },
  tab: (place) => {
    const name = tabNames[place];
    if (name) view.show(name);
  },
});
startFile();
startDrop();
view.onPaint((parts) => {
  if (parts.has('tab') || parts.has('header')) paintTabs();
  void loadCoverage();
});
// what runs against the clock moves although nothing is heard
setInterval(() => {
  if (view.isLive && view.run.ended === undefined) view.touch('clock');
}, 250);

if (embedded?.textContent) openRecording(embedded.textContent);
else source.open(listener);
view.touchAll();
/** For tests and for the curious: `inspector.view` in the console. */
Object.assign(window, { inspector: { view, openRecording } });
