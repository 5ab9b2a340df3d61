/**
 * holdfast of an earlier commit, built and packed, beside the present one. `npm run bench -- --before <commit>` puts
 * the address of the build into the environment, which worker processes inherit.
 */
import { holdfastParticipants } from './holdfast.ts';
import type { Participant } from './participant.ts';

export function beforeParticipants(): readonly Participant[] {
  // The file URL of the build's entry. Unset: nothing is compared.
  const address = process.env['HOLDFAST_BENCH_BEFORE'];
  if (address === undefined) return [];
  // The build exports what the present package exports, as far as the benchmark calls it.
  const load = async () => ((await import(address)) as typeof import('holdfast')).Locks;
  return holdfastParticipants(load).map((participant) => ({
    ...participant,
    id: participant.id.replace('holdfast-', 'holdfast-before-'),
    name: participant.name.replace('holdfast ', 'holdfast before, '),
    beforeOf: participant.id,
  }));
}
