/** What MONITOR shows: every command with its time, its database and its sender. */
import { toBytes } from '../protocol/bytes.ts';
import { Status } from '../protocol/reply.ts';
import type { NodeState } from '../state/node-state.ts';

const ESCAPES: Readonly<Record<string, string>> = {
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\x07': '\\a',
  '\b': '\\b',
  '"': '\\"',
  '\\': '\\\\',
};

/** Commands that are never shown, because their arguments are secret. */
const SECRET = new Set(['auth', 'hello']);

/** Shows a command to every connection that has sent MONITOR. */
export function sendToMonitors(
  node: NodeState,
  database: number,
  sender: string,
  name: string,
  args: readonly string[],
): void {
  let line: Status | null = null;
  for (const connection of node.connections) {
    if (!connection.isMonitor || SECRET.has(name.toLowerCase())) continue;
    line ??= lineOf(node, database, sender, [name, ...args]);
    connection.peer.deliver(line);
  }
}

function lineOf(node: NodeState, database: number, sender: string, words: readonly string[]): Status {
  const seconds = Math.floor(node.nowUs / 1_000_000);
  const micros = String(node.nowUs % 1_000_000).padStart(6, '0');
  return new Status(`${seconds}.${micros} [${database} ${toBytes(sender)}] ${words.map(quote).join(' ')}`);
}

function quote(bytes: string): string {
  const escaped = bytes.replaceAll(/[^ !#-[\]-~]/g, (char) => {
    return ESCAPES[char] ?? `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
  return `"${escaped}"`;
}
