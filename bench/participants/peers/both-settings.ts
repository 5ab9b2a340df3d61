/** A library that polls takes part twice: with the settings of its README, and with a retry every 10 ms for ever. */
import { type OpenParticipant, type Participant, README, TUNED } from '../participant.ts';

export interface BothSettings<Settings> {
  readonly readme: Settings;
  readonly tuned: Settings;
}

type Common = Pick<Participant, 'id' | 'name' | 'client' | 'canRenew' | 'sends'> & {
  readonly hasQuorum: boolean;
};

export function withBothSettings<Settings>(
  { id, hasQuorum, ...common }: Common,
  settings: BothSettings<Settings>,
  open: (ports: readonly number[], settings: Settings) => Promise<OpenParticipant>,
): readonly Participant[] {
  return [false, true].map((isTuned): Participant => {
    const own = isTuned ? settings.tuned : settings.readme;
    return {
      ...common,
      id: isTuned ? `${id}-tuned` : id,
      settings: isTuned ? TUNED : README,
      role: 'peer',
      isTuned,
      open: (port) => open([port], own),
      ...(hasQuorum ? { openQuorum: (ports: readonly number[]) => open(ports, own) } : {}),
    };
  });
}
