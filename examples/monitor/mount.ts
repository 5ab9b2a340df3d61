/** The monitor inside a server that you have already: Express, Fastify and Hono. */
import type { Server } from 'node:http';
import { serve } from '@hono/node-server';
import express from 'express';
import Fastify from 'fastify';
import { type Monitor, nodeListener } from 'holdfast-monitor';
import { Hono } from 'hono';

/** Any path: the page uses relative addresses only. */
export function withExpress(monitor: Monitor): Server {
  const app = express();
  app.use('/admin/locks', nodeListener(monitor));
  return app.listen(0, '127.0.0.1');
}

export async function withFastify(monitor: Monitor): Promise<Server> {
  const app = Fastify();
  const listen = nodeListener(monitor);
  // The monitor reads bodies itself.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.all('/admin/locks/*', (request, reply) => {
    reply.hijack();
    request.raw.url = request.raw.url?.slice('/admin/locks'.length) ?? '/';
    listen(request.raw, reply.raw);
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  return app.server;
}

export function withHono(monitor: Monitor): Server {
  const app = new Hono();
  app.mount('/admin/locks', (request) => monitor.handle(request));
  return serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server;
}
