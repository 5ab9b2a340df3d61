/** Participants that are opened in this process, for scenarios without worker processes. */
import type { OpenParticipant, Participant } from '../participants/participant.ts';
import { within } from './time-limit.ts';

const CLOSE_MS_MAX = 2_000;

export type OpenParticipants = ReadonlyMap<Participant, OpenParticipant>;

/** Opens all participants; one for which `open` gives undefined is left out. */
export async function openAll(
  participants: readonly Participant[],
  open: (participant: Participant) => Promise<OpenParticipant> | undefined,
): Promise<OpenParticipants> {
  const opened = new Map<Participant, OpenParticipant>();
  for (const participant of participants) {
    const each = await open(participant);
    if (each !== undefined) opened.set(participant, each);
  }
  return opened;
}

export async function closeAll(opened: OpenParticipants): Promise<void> {
  for (const each of opened.values()) await within(CLOSE_MS_MAX, each.close()).catch(() => {});
}
