/** Servers: is Redis the cause? One card for each server. */
import type { JSX } from 'preact';
import type { ServerCard, ServerHealth, TopologyView } from '../../src/api/types.ts';
import { now } from '../data/clock.ts';
import { HEALTH_WORDS } from '../data/health.ts';
import { picture, servers } from '../data/store.ts';
import { clock, count, duration, milliseconds, seconds, visible } from '../data/words.ts';
import { isStale } from '../parts/banners.tsx';
import { Shape, type ShapeName } from '../parts/marks.tsx';
import { Empty, Skeleton } from '../parts/states.tsx';
import { ServerPlots } from './server-plots.tsx';

const SHAPES: Readonly<Record<ServerHealth, ShapeName>> = {
  up: 'dot',
  down: 'square',
  busy: 'square',
  loading: 'ring',
  refused: 'triangle',
};

export function ServersPage(): JSX.Element {
  return (
    <main class={isStale() ? 'page stale' : 'page'}>
      <h1>Servers {picture.value !== null && <small>{topologyWords(picture.value.topology)}</small>}</h1>
      {picture.value === null ? (
        <Skeleton rows={10} />
      ) : servers.value.length === 0 ? (
        <Empty title="No server seen yet" />
      ) : (
        servers.value.map((card) => <Card key={card.id} card={card} />)
      )}
    </main>
  );
}

function topologyWords({
  kind,
  quorum,
  slotsOk,
  sentinels,
  clockSpreadMs,
  clockErrorMs,
}: TopologyView): string {
  const parts: string[] = [kind === 'single' ? 'one server' : kind];
  if (quorum !== null) parts.push(`${quorum.voters} of ${quorum.of} vote, ${quorum.needed} needed`);
  if (slotsOk !== null) parts.push(`${count(slotsOk)} of 16,384 slots served`);
  if (sentinels !== null)
    parts.push(`${sentinels.up} of ${sentinels.known} sentinels up, ${sentinels.quorum} needed`);
  if (clockSpreadMs !== null) {
    parts.push(
      `clocks ${milliseconds(clockSpreadMs)} apart${clockErrorMs === null ? '' : ` ± ${milliseconds(clockErrorMs)}`}`,
    );
  }
  return parts.join('; ');
}

function Card({ card }: { readonly card: ServerCard }): JSX.Element {
  const isUp = card.health === 'up';
  return (
    <section class={isUp ? 'card' : 'card trouble'} aria-label={card.id} tabIndex={-1} data-item>
      <h2>
        {visible(card.id)} <small>{card.role}</small>
        <span class={isUp ? 'mark is-live' : 'mark is-late'}>
          <Shape name={SHAPES[card.health]} /> {HEALTH_WORDS[card.health]}
        </span>
      </h2>
      {!isUp && (
        <p class="callout">
          Since {clock(card.healthSince)}, {seconds(now.value - card.healthSince)} ago
          {card.trouble !== null && <>: {visible(card.trouble)}</>}.
          {card.seenAt !== null && <> The figures are of {clock(card.seenAt)}.</>}
        </p>
      )}
      {card.role !== 'sentinel' && <ServerPlots card={card} />}
      <dl class="facts cells">{factsOf(card).map(Fact)}</dl>
    </section>
  );
}

interface FactProps {
  readonly term: string;
  readonly words: string | null;
  readonly isBad?: boolean;
}

function Fact({ term, words, isBad = false }: FactProps): JSX.Element {
  return (
    <div key={term}>
      <dt>{term}</dt>
      <dd class={words === null ? 'quiet' : isBad ? 'is-late' : undefined}>
        {isBad && <Shape name="triangle" />} {words ?? 'not known'}
      </dd>
    </div>
  );
}

function factsOf(card: ServerCard): readonly FactProps[] {
  const { startedAt, guardedUntil, clockOffsetMs, clockErrorMs } = card;
  const version = card.version === null ? null : `${card.product ?? ''} ${visible(card.version)}`.trim();
  if (card.role === 'sentinel') return [{ term: 'version', words: version }];
  const isGuarded = guardedUntil !== null && guardedUntil > now.value;
  const up = startedAt === null ? null : duration(now.value - startedAt);
  const offset =
    clockOffsetMs === null
      ? null
      : `${clockOffsetMs < 0 ? '−' : '+'}${milliseconds(Math.abs(clockOffsetMs))}`;
  return [
    { term: 'version', words: version },
    isGuarded
      ? { term: 'guarded', words: `${seconds(guardedUntil - now.value)}: does not vote yet`, isBad: true }
      : { term: 'up for', words: up },
    {
      term: 'evictions',
      words: evictionWords(card),
      isBad: card.mayEvict === true || (card.evictedTotal ?? 0) > 0,
    },
    {
      term: 'refused clients',
      words: card.rejectedTotal === null ? null : count(card.rejectedTotal),
      isBad: (card.rejectedTotal ?? 0) > 0,
    },
    ...replicaFacts(card),
    { term: 'persistence', words: card.persistence, isBad: card.persistence === 'failing' },
    {
      term: 'clock',
      words:
        offset === null
          ? null
          : `${offset}${clockErrorMs === null ? '' : ` ± ${milliseconds(clockErrorMs)}`}`,
    },
    { term: 'keys', words: card.keys === null ? null : count(card.keys) },
    {
      term: 'of the monitor',
      words: card.ownCommandsPerSecond === null ? null : `${count(card.ownCommandsPerSecond)} commands/s`,
    },
  ];
}

function evictionWords({ evictedTotal, evictionPolicy, mayEvict }: ServerCard): string | null {
  if (evictedTotal === null && evictionPolicy === null) return null;
  const keys = evictedTotal === null ? '' : `${count(evictedTotal)} keys`;
  const policy =
    evictionPolicy === null ? '' : `${visible(evictionPolicy)}${mayEvict === true ? ': locks can go' : ''}`;
  return [keys, policy].filter(Boolean).join(', ');
}

function replicaFacts({
  role,
  replicas,
  replicasSeenMax,
  replicaLagSeconds,
}: ServerCard): readonly FactProps[] {
  const isBehind = (replicaLagSeconds ?? 0) > 5;
  const lag = replicaLagSeconds === null ? null : `${replicaLagSeconds} s`;
  if (role === 'replica') return [{ term: 'behind', words: lag, isBad: isBehind }];
  if (replicas === null) return [{ term: 'replicas', words: null }];
  const isFewer = replicasSeenMax !== null && replicas < replicasSeenMax;
  const words = `${replicas}${isFewer ? ` of ${replicasSeenMax} seen` : ''}${replicas > 0 && lag !== null ? `, ${lag} behind` : ''}`;
  return [{ term: 'replicas', words, isBad: isFewer || isBehind }];
}
