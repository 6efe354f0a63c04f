/** The inspector's page as it is shipped: one script, one style sheet, one body. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const folder = fileURLToPath(new URL('../../src/inspect/page/', import.meta.url));

export async function pageBundle(): Promise<string> {
  const [script, style, body] = await Promise.all([scriptOf(), styleOf(), text('page.html')]);
  return [
    '/** Generated from src/inspect/page/. Do not edit: `npm run generate`. */',
    'export const pageBundle = {',
    `  body: ${JSON.stringify(body.replace(/\n\s*/g, ''))},`,
    `  style: ${JSON.stringify(style)},`,
    `  script: ${JSON.stringify(script)},`,
    '};',
    '',
  ].join('\n');
}

const text = (name: string) => readFile(`${folder}${name}`, 'utf8');
/** Comments and indentation are for us. */
const styleOf = async () =>
  (await text('page.css'))
    .replace(/\/\*[^*]*\*\//g, '')
    .replace(/\s*\n\s*/g, '\n')
    .replace(/\n(?=[^@}\n]*:[^\n]*;)/g, '')
    .trim();

async function scriptOf(): Promise<string> {
  const built = await build({
    configFile: false,
    logLevel: 'error',
    build: {
      write: false,
      target: 'es2022',
      modulePreload: false,
      lib: { entry: `${folder}main.ts`, formats: ['es'], fileName: 'page' },
    },
  });
  const outputs = (Array.isArray(built) ? built : [built]).flatMap((one) =>
    'output' in one ? one.output : [],
  );
  const code = outputs.flatMap((one) => (one.type === 'chunk' ? [one.code] : []));
  if (code.length !== 1 || code[0] === undefined) throw new Error('the page must be one script');
  // what would end the element that it stands in, in a text of ours
  return code[0].replaceAll('</script', '<\\/script').trim();
}
