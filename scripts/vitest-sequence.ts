import type { TestSpecification } from 'vitest/node';
import { BaseSequencer } from 'vitest/node';

/**
 * The files that take long, longest first. Begun last, one of them would run alone at the end while the other workers
 * have nothing left to do; and a fresh clone has no memory of the last run to tell.
 */
const LONGEST = [
  'contract/contract',
  'cli/test/fresh-clone',
  'process/killed-crew',
  'docs/snippets',
  'process/sentinel-crew',
  'simulation/seeds',
  'process/counter',
  'simulation/planted-bugs',
  'cli/test/cluster',
  'process/quorum-crew',
  'process/exit',
  'package/package',
  'compat/jest',
  'compat/typescript',
  'cluster/failover',
  'cli/test/looking',
  'support-tests/sentinel-group',
  'process/cluster-rivals',
  'clients/conformance',
  'fault/sentinel-failover',
  'clients/sentinel/silent-sentinels',
  'fault/waiting-process',
  'fault/quorum-guard',
  'clients/process',
  'fault/server-refusals',
  'fault/renewal-faults',
  'fault/holder-end',
  'fault/sentinel-leader',
];

function rank({ moduleId }: TestSpecification): number {
  const at = LONGEST.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
  return at < 0 ? LONGEST.length : at;
}

/** Long files first, within each project. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // The order of what is not listed is the usual one: what took long the last time, or else is large.
    const usual = await super.sort(files);
    const orderOf = ({ project }: TestSpecification): number => project.config.sequence.groupOrder;
    return usual.sort((a, b) => orderOf(a) - orderOf(b) || rank(a) - rank(b));
  }
}
