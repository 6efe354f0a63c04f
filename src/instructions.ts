/**
 * What people have written down for the model: instructions, skills, agents, commands, plugins.
 * Read once, when an engine is made, from sources that the host trusts.
 */
import { join } from 'node:path';
import { type AgentDefinition, mergedAgents } from '../services/agents/agent-definition.ts';
import { loadAgents } from '../services/agents/load-agents.ts';
import { loadMemory, projectRoot } from '../services/memory/memory-files.ts';
import type { DefinitionFolder } from '../services/skills/definition-files.ts';
import { loadCommands } from '../services/skills/load-commands.ts';
import { loadSkills, type Skill } from '../services/skills/load-skills.ts';
import type { Command } from './config.ts';
import type { LoadedPlugin } from './plugins.ts';
import type { SettingSource } from './settings.ts';
import { skillCommands } from './slash-commands.ts';

export interface InstructionPlace {
  /** A real path. */
  readonly cwd: string;
  /** `$ESCAPEMENT_HOME`. */
  readonly home: string;
  readonly userHome: string;
  readonly sources: readonly SettingSource[];
  readonly plugins: readonly LoadedPlugin[];
}

export interface Instructions {
  readonly memory: readonly string[];
  /** Real paths of the files in `memory`. */
  readonly memoryPaths: readonly string[];
  readonly agents: readonly AgentDefinition[];
  readonly skills: readonly Skill[];
  readonly commands: readonly Command[];
}

export async function loadInstructions(place: InstructionPlace): Promise<Instructions> {
  const { cwd, home, sources } = place;
  const root = projectRoot(cwd);
  const foldersOf = (kind: string): readonly DefinitionFolder[] => [
    ...place.plugins.map(({ folder, name }) => ({ path: join(folder, kind), prefix: name })),
    ...(sources.includes('user') ? [{ path: join(home, kind) }] : []),
    ...(sources.includes('project') ? [{ path: join(cwd, '.claude', kind), within: root }] : []),
  ];
  const all = async <T>(kind: string, load: (folder: DefinitionFolder) => Promise<readonly T[]>) =>
    (await Promise.all(foldersOf(kind).map(load))).flat();
  const [memory, agents, skills, commands] = await Promise.all([
    loadMemory(place),
    all('agents', loadAgents),
    all('skills', loadSkills),
    all('commands', loadCommands),
  ]);
  const known = lastOfEachName(skills);
  return {
    memory: memory.texts,
    memoryPaths: [...memory.paths],
    agents: mergedAgents(agents),
    skills: known,
    commands: lastOfEachName<Command>([...skillCommands(known), ...commands]),
  };
}

/** Of the same name, the one that stands nearer to the work counts: project, user, plugin. */
const lastOfEachName = <T extends { readonly name: string }>(all: readonly T[]): readonly T[] => [
  ...new Map(all.map((one) => [one.name, one])).values(),
];
