/**
 * Ends a process group when we cannot do it ourselves.
 *
 * If this process is killed with SIGKILL, or stopped with SIGSTOP, nobody renews the lock, and the command would run on
 * beside the next holder. So a small shell waits in a session of its own. It is told how long the group may live
 * unless it is told again. When that time is over, or when its standard input closes because this process is gone, the
 * shell sends SIGTERM to the group, waits for the grace, and sends SIGKILL. It is a shell because it must run before the
 * command does, and a shell starts at once.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';

const SCRIPT = `
trap '' HUP INT
grace=$1 group= timer= mode=term
stop_timer() { [ -z "$timer" ] || kill -s TERM "$timer" 2>/dev/null; timer=; }
end_group() {
  if [ "$mode" = term ]; then kill -s TERM -- "-$group" 2>/dev/null; sleep "$grace"; fi
  kill -s KILL -- "-$group" 2>/dev/null
}
while read -r verb what; do
  case $verb in
    group) group=$what ;;
    term|kill)
      stop_timer
      mode=$verb
      (
        trap 'kill "$!" 2>/dev/null; exit 0' TERM
        sleep "$what" &
        wait "$!"
        end_group
      ) & timer=$! ;;
    done) stop_timer; exit 0 ;;
  esac
done
stop_timer
[ -z "$group" ] || end_group
`;

const seconds = (ms: number): string => (Math.max(0, ms) / 1000).toFixed(3);

export class Guard {
  readonly #shell: ChildProcess;

  constructor(graceMs: number) {
    this.#shell = spawn('/bin/sh', ['-c', SCRIPT, 'holdfast-guard', seconds(graceMs)], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#shell.on('error', () => {});
    this.#shell.stdin?.on('error', () => {});
    this.#shell.unref();
    // The pipe is a socket, which has `unref` although its type does not say so.
    (this.#shell.stdin as Socket).unref();
  }

  watch(group: number): void {
    this.#tell(`group ${group}`);
  }

  /** The group may live this long, unless this is called again. Then SIGTERM, the grace, SIGKILL. */
  allow(leftMs: number): void {
    this.#tell(`term ${seconds(leftMs)}`);
  }

  /** The group has got SIGTERM. SIGKILL after this long, or when this process is gone. */
  allowLast(leftMs: number): void {
    this.#tell(`kill ${seconds(leftMs)}`);
  }

  /** The group has ended: the shell exits. */
  dismiss(): void {
    this.#tell('done');
    this.#shell.stdin?.end();
  }

  #tell(line: string): void {
    this.#shell.stdin?.write(`${line}\n`);
  }
}
