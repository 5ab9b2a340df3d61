/** The monitor inside other servers, as examples/monitor does it. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import { expect, test } from 'vitest';
import { withExpress, withFastify, withHono } from '../../../examples/monitor/mount.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import type { State } from '../src/api/types.ts';
import type { Monitor } from '../src/index.ts';
import { client, closing, session, TestMonitor } from './support/monitor.ts';

const server = useRedis();

const MOUNTS: readonly [string, (monitor: Monitor) => Server | Promise<Server>][] = [
  ['Express', withExpress],
  ['Fastify', withFastify],
  ['Hono', withHono],
];

test.each(MOUNTS)(
  'inside %s the page, the state, the stream and actions work below a path',
  async (_name, mount) => {
    const locks = session(client(server.port));
    const lease = await locks.lock('order').acquire({ leaseMs: 600_000 });
    const seen = new TestMonitor({
      redis: client(server.port),
      actions: true,
      authorize: (request) => (request.headers.get('x-user') === 'me' ? { user: 'me', mayAct: true } : null),
    });
    const row = await seen.untilRow('order');
    const http = await mount(seen.monitor);
    closing({
      close: () => {
        http.closeAllConnections();
        http.close();
      },
    });
    if (!http.listening) await once(http, 'listening');
    const address = http.address();
    const base = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/admin/locks/`;
    const headers = { 'x-user': 'me' };
    expect((await fetch(base)).status).toBe(403);
    expect((await fetch(base, { headers })).status).toBe(200);
    expect((await fetch(`${base}healthz`)).status).toBe(200);
    const state = (await (await fetch(`${base}api/v1/state`, { headers })).json()) as State;
    expect(state.locks.map(({ name }) => name)).toContain('order');
    const left = new AbortController();
    const stream = await fetch(`${base}api/v1/stream?from=${state.id}`, { headers, signal: left.signal });
    const reader = stream.body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toContain('event: hello');
    left.abort();
    const released = await fetch(`${base}api/v1/release`, {
      method: 'POST',
      headers: {
        ...headers,
        'content-type': 'application/json',
        'x-holdfast-csrf': state.viewer.csrf,
        origin: new URL(base).origin,
      },
      body: JSON.stringify({ name: 'order', holder: row.holder, fence: row.fence, reason: 'trial' }),
    });
    expect([released.status, await released.json()]).toEqual([200, { released: row.holder }]);
    await waitFor(() => seen.row('order') === undefined);
    await lease.release().catch(() => {});
  },
);
