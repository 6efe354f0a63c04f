import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { generateToolSchemas } from '../../tools/tool-schemas.ts';

test('the generated schemas are those of the zod schemas (npm run generate)', async () => {
  const { path, text } = generateToolSchemas();
  const file = fileURLToPath(new URL(`../../../${path}`, import.meta.url));
  await expect(text).toMatchFileSnapshot(file);
});
