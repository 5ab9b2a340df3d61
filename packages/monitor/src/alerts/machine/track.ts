/** One level of an alert as time passes. */
import { INACTIVE, type Track } from './alert.ts';

/** `unknown`: the figures are too old to tell. */
export type Condition = 'bad' | 'well' | 'unknown';

export interface TrackTerms {
  readonly forMs: number;
  readonly keepForMs: number;
}

export function stepTrack(track: Track, condition: Condition, nowMs: number, terms: TrackTerms): Track {
  if (condition === 'unknown') return track;
  return condition === 'bad' ? whenBad(track, nowMs, terms) : whenWell(track, nowMs, terms);
}

function whenBad(track: Track, nowMs: number, { forMs }: TrackTerms): Track {
  if (track.phase === 'firing') return track.wellSinceMs === null ? track : { ...track, wellSinceMs: null };
  const sinceMs = track.phase === 'pending' ? track.sinceMs : nowMs;
  const phase = nowMs - sinceMs >= forMs ? 'firing' : 'pending';
  return { phase, sinceMs, wellSinceMs: null };
}

function whenWell(track: Track, nowMs: number, { keepForMs }: TrackTerms): Track {
  if (track.phase !== 'firing') return INACTIVE;
  const wellSinceMs = track.wellSinceMs ?? nowMs;
  return nowMs - wellSinceMs >= keepForMs ? INACTIVE : { ...track, wellSinceMs };
}
