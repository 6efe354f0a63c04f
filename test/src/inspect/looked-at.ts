/** A program that is looked at through its inspector, and has nothing more to do after a line. */
import { createActor, createMachine } from 'xstate';
import { startInspector } from '../../../src/inspect/index.ts';
import { createV4Bridge } from '../../../src/inspect/xstate-inspect/src/index.ts';

const { url, inspect } = await startInspector(undefined, { v4: createV4Bridge });
createActor(createMachine({ id: 'idle' }), { inspect }).start();
console.log(url);
await new Promise((resolve) => void process.stdin.once('data', resolve));
process.stdin.destroy();
