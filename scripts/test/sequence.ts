import type { TestSpecification } from 'vitest/node';
import { BaseSequencer } from 'vitest/node';

/**
 * The slowest test files, slowest first. Started last, a slow file would run alone at the end while the other workers
 * idle. Vitest's own record of durations does not exist on a fresh clone.
 */
const LONGEST = [
  'contract/contract',
  'contract/several-servers',
  'process/counter/killed-processes',
  'docs/snippets',
  'monitor/test/page/browser',
  'process/counter/sentinels',
  'simulation/seeds',
  'process/counter/counter',
  'simulation/planted-bugs',
  'cli/test/cluster',
  'process/counter/quorum',
  'process/exit',
  'package/package',
  'cluster/failover',
  'cli/test/demo',
  'cluster/migration',
  'fault/quorum/renewal',
  'fault/holder/kept',
  'fault/replicas/failover',
  'fault/renewal/silent',
  'fault/loss/told',
  'fault/api/channels',
  'monitor/test/ends',
  'monitor/test/topologies',
  'cli/test/looking',
  'support-tests/sentinel-group',
  'process/counter/cluster',
  'clients/conformance',
  'fault/sentinel/failover',
  'clients/sentinel/silent-sentinels',
  'fault/waiting/process',
  'fault/quorum/guard',
  'clients/process',
  'fault/server/refusals',
  'fault/renewal/faults',
  'fault/holder/end',
  'fault/sentinel/leader',
];

function rank({ moduleId }: TestSpecification): number {
  const at = LONGEST.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
  return at < 0 ? LONGEST.length : at;
}

/** Slow files first, within each project. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // Files that are not listed keep Vitest's order: slow in the last run first, then large ones.
    const usual = await super.sort(files);
    const orderOf = ({ project }: TestSpecification): number => project.config.sequence.groupOrder;
    return usual.sort((a, b) => orderOf(a) - orderOf(b) || rank(a) - rank(b));
  }
}
