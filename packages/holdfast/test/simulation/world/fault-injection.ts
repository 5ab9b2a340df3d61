/** Makes the faults of a seed happen, at random moments until the world calms down. */

import type { Fault, FaultSelection } from './fault-selection.ts';
import type { Prng } from './prng.ts';
import type { SimulatedProcess } from './process.ts';
import type { SimulatedNode } from './simulated-node.ts';
import type { SimulatedSocket } from './socket.ts';
import type { Timeline } from './timeline.ts';

const EVERY_MS: readonly number[] = [20, 80, 200, 500, 1_000, 2_000];
const SHORT_MS: readonly number[] = [1, 10, 50, 200, 600, 1_500, 4_000];
const CRASHES_MAX = 2;

export interface FaultyWorld {
  readonly timeline: Timeline;
  readonly prng: Prng;
  readonly nodes: readonly SimulatedNode[];
  readonly processes: readonly SimulatedProcess[];
  readonly names: readonly string[];
  /** Who keeps a lock just now that nobody uses: the moment to look for. */
  readonly line?: { keeper(): SimulatedProcess | undefined };
  note(who: string, what: string): void;
  /** Counts a fault. */
  struck(): void;
  /** Tells the judge that something was done which no lock survives. */
  disturbed(): void;
  /** The clock of a node goes back by so much. */
  setBack(node: SimulatedNode, ms: number): void;
}

type Injection = (world: FaultyWorld, random: Prng) => void;

function node({ nodes }: FaultyWorld, random: Prng): SimulatedNode {
  return random.pick(nodes);
}

function process({ processes }: FaultyWorld, random: Prng): SimulatedProcess {
  return random.pick(processes);
}

function anySocket({ clients }: SimulatedProcess, random: Prng): SimulatedSocket {
  return random.pick(random.pick(clients).sockets);
}

function hold(world: FaultyWorld, random: Prng, begin: () => void, end: () => void): void {
  begin();
  world.timeline.after(random.pick(SHORT_MS), end);
}

function restart(
  world: FaultyWorld,
  random: Prng,
  survivor: 'nothing' | 'everything' | 'all but the last second',
): void {
  const target = node(world, random);
  world.note(target.name, `restarts with ${survivor}`);
  const downMs = random.pick(SHORT_MS);
  target.restart(survivor, downMs);
  if (survivor === 'everything') return;
  world.disturbed();
  world.timeline.after(downMs, () => world.disturbed());
}

const INJECTIONS: Partial<Record<Fault, Injection>> = {
  stall: (world, random) => {
    const target = process(world, random);
    world.note(target.name, 'network stalls');
    anySocket(target, random).stall(random.pick(SHORT_MS));
  },
  cut: (world, random) => {
    const target = process(world, random);
    world.note(target.name, 'connection is cut');
    anySocket(target, random).cut();
  },
  'half-open': (world, random) => {
    const target = process(world, random);
    world.note(target.name, 'connection hangs');
    anySocket(target, random).hang(random.pick(SHORT_MS));
  },
  pause: (world, random) => {
    const { name, machine } = process(world, random);
    world.note(name, 'pauses');
    hold(
      world,
      random,
      () => machine.pause(),
      () => machine.resume(),
    );
  },
  suspend: (world, random) => {
    const { name, machine } = process(world, random);
    world.note(name, 'is suspended');
    hold(
      world,
      random,
      () => machine.suspend(),
      () => machine.resume(),
    );
  },
  crash: (world, random) => {
    const dead = world.processes.filter(({ isAlive }) => !isAlive).length;
    const target = process(world, random);
    if (dead >= CRASHES_MAX || dead >= world.processes.length - 1 || !random.chance(0.3)) return;
    world.note(target.name, 'crashes');
    target.crash();
  },
  close: (world, random) => {
    const drawn = process(world, random);
    const target = world.line?.keeper() ?? drawn;
    if (!random.chance(0.2) || target.machine.state !== 'running') return;
    world.note(target.name, 'closes');
    target.close(random.pick(SHORT_MS));
  },
  'subscription cut': (world, random) => {
    const target = process(world, random);
    world.note(target.name, 'subscription is cut');
    random.pick(target.clients).subscriber.cut();
  },
  'line lost': (world, random) => {
    const target = node(world, random);
    const name = random.pick(world.names);
    world.note(target.name, `loses the line of ${name}`);
    target.operate('DEL', `holdfast_line:{${name}}`);
  },
  'evict counter': (world, random) => {
    const target = node(world, random);
    target.operate('DEL', `redisson_lock_token:{${random.pick(world.names)}}`);
  },
  'client wall jump': (world, random) => {
    const { name, machine } = process(world, random);
    const ms = random.between(-5_000, 5_000);
    world.note(name, `wall clock jumps by ${ms} ms`);
    machine.jumpWall(ms);
  },
  freeze: (world, random) => {
    const target = node(world, random);
    world.note(target.name, 'freezes');
    hold(
      world,
      random,
      () => target.freeze(),
      () => target.thaw(),
    );
  },
  'restart with everything': (world, random) => restart(world, random, 'everything'),
  'restart with nothing': (world, random) => restart(world, random, 'nothing'),
  'restart without the last second': (world, random) => restart(world, random, 'all but the last second'),
  'script flush': (world, random) => void node(world, random).operate('SCRIPT', 'FLUSH'),
  flush: (world, random) => {
    const target = node(world, random);
    world.note(target.name, 'FLUSHALL');
    target.operate('FLUSHALL');
    world.disturbed();
  },
  delete: (world, random) => {
    const target = node(world, random);
    const name = random.pick(world.names);
    world.note(target.name, `DEL ${name}`);
    target.operate('DEL', name);
    world.disturbed();
  },
  'node jump forward': (world, random) => {
    const target = node(world, random);
    world.note(target.name, 'clock jumps forward');
    target.state.jump(random.between(1, 20_000));
    world.disturbed();
  },
  'node jump back': (world, random) => {
    const target = node(world, random);
    world.note(target.name, 'clock jumps back');
    world.setBack(target, random.between(1, 5_000));
    world.disturbed();
  },
};

/** Lets faults happen until a time. Afterwards everything is put right that can be. */
export function injectFaults(world: FaultyWorld, { faults }: FaultSelection, untilMs: number): void {
  const random = world.prng.fork();
  const injections = [...faults].flatMap((fault) => INJECTIONS[fault] ?? []);
  if (faults.has('restart without the last second')) for (const target of world.nodes) target.keepCopies();
  if (injections.length === 0) return;
  const next = (): void => {
    const delayMs = random.pick(EVERY_MS) * (0.5 + random.fraction());
    if (world.timeline.nowMs + delayMs >= untilMs) return;
    world.timeline.after(delayMs, () => {
      world.struck();
      random.pick(injections)(world, random);
      next();
    });
  };
  next();
}

export function heal({ nodes, processes }: FaultyWorld): void {
  for (const { clients } of processes) for (const { messages } of clients) messages.isOver = true;
  for (const one of nodes) one.thaw();
  for (const { machine } of processes) machine.resume();
}
