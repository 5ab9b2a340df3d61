/** Who owns a lock and who waits for it, as it stands on a node. Read from outside: nothing expires or changes by it. */
import type { SimulatedNode } from '../world/simulated-node.ts';

/** A ticket in the line, with the place it stands at. */
export interface LineTicket {
  readonly place: number;
  readonly holder: string;
  readonly echo: string;
  readonly deadlineMs: number;
  /** Whether the node counts somebody who hears a message for this ticket. */
  readonly isHeard: boolean;
}

export interface LineState {
  /** Null: the key is free. */
  readonly owner: string | null;
  /** In their order. */
  readonly tickets: readonly LineTicket[];
  /** Until when a free key is left to guests, by the node's clock. */
  readonly openUntilMs: number;
}

const TICKET = /^(\S+) (\S+) \d+ \d+ \d+ \d+ (\d+) \d+ (\w) (.*)$/s;

export function lineKey(name: string): string {
  return `holdfast_line:{${name}}`;
}

/** The holder that has the key, or the token of a mutex. */
export function ownerOf(node: SimulatedNode, name: string): string | null {
  const value = node.state.databases[0]?.entry(name)?.value;
  if (value?.type === 'hash') return [...value.fields.keys()][0] ?? null;
  return value?.type === 'string' ? value.bytes : null;
}

/** The holder that may keep the key although nobody uses it, as the line has it. */
export function keeperOf(node: SimulatedNode, name: string): string | null {
  const line = node.state.databases[0]?.entry(lineKey(name))?.value;
  return line?.type === 'hash' ? (/^\S+/.exec(line.fields.get('linger') ?? '')?.[0] ?? null) : null;
}

export function lineOf(node: SimulatedNode, name: string): LineState {
  node.state.tick();
  const owner = ownerOf(node, name);
  const line = node.state.databases[0]?.entry(lineKey(name))?.value;
  if (line?.type !== 'hash') return { owner, tickets: [], openUntilMs: 0 };
  const tickets: LineTicket[] = [];
  for (const [field, text] of line.fields) {
    const place = Number(field);
    const [, holder, echo, deadlineMs, mode, channel] = TICKET.exec(text) ?? [];
    if (!Number.isInteger(place) || holder === undefined || echo === undefined || channel === undefined)
      continue;
    const isHeard = mode !== 'n' && node.state.channels.count('channel', channel) > 0;
    tickets.push({ place, holder, echo, deadlineMs: Number(deadlineMs), isHeard });
  }
  tickets.sort((a, b) => a.place - b.place);
  return { owner, tickets, openUntilMs: Number(line.fields.get('open') ?? 0) };
}
