/** Elements without a framework. Text comes in as text: nothing here parses HTML. */

type Child = Node | string | false | undefined;

/** @param name a tag, with classes behind dots: `div.row.is-hot`. */
export function el<K extends keyof HTMLElementTagNameMap>(
  name: K | `${K}.${string}`,
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const [tag, ...classes] = name.split('.') as [K, ...string[]];
  const element = document.createElement(tag);
  if (classes.length > 0) element.className = classes.join(' ');
  for (const child of children) if (child !== undefined && child !== false) element.append(child);
  return element;
}

/** A button of type `button`: it never sends a form. */
export function button(
  name: 'button' | `button.${string}`,
  label: string,
  onClick: (event: MouseEvent) => void,
): HTMLButtonElement {
  const element = el(name, label);
  element.type = 'button';
  element.addEventListener('click', onClick);
  return element;
}

/** An element that the page's own markup has. */
export function need<T extends Element = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no #${id}`);
  return element as Element as T;
}

/** Sets attributes; `undefined` takes one away. */
export function set<T extends Element>(
  element: T,
  attributes: Readonly<Record<string, string | number | boolean | undefined>>,
): T {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  return element;
}

/** A section that fetches what is in it when it is opened for the first time. */
export function lazyDetails(
  summary: Node | string,
  fill: (host: HTMLElement) => void,
  isOpen = false,
): HTMLDetailsElement {
  const host = el('div.fold-body');
  const details = el('details', el('summary', summary), host);
  const open = () => {
    if (details.open && !host.hasChildNodes()) fill(host);
  };
  details.addEventListener('toggle', open);
  details.open = isOpen;
  if (isOpen) open();
  return details;
}
