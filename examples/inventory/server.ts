/** The shop over HTTP: `POST /sale` sells one item, `GET /stock` returns how many are left, `PUT /stock?left=9` sets it. */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Sale, Shop } from './shop.ts';
import type { Stock } from './stock.ts';

interface Answer {
  readonly status: number;
  readonly body: object;
}

const STATUS: Readonly<Record<Sale['result'], number>> = { sold: 200, refused: 409, 'sold out': 410 };

export function createShopServer(shop: Shop, stock: Stock, session: string | null): Server {
  const answer = async ({ method, url = '/' }: IncomingMessage): Promise<Answer> => {
    const { pathname, searchParams } = new URL(url, 'http://shop');
    if (method === 'POST' && pathname === '/sale') {
      const sale = await shop.sell(Number(searchParams.get('thinkMs') ?? 0));
      return { status: STATUS[sale.result], body: sale };
    }
    if (method === 'GET' && pathname === '/stock') {
      return { status: 200, body: { left: await stock.read(), session, selling: shop.selling } };
    }
    if (method === 'PUT' && pathname === '/stock') {
      await stock.write(Number(searchParams.get('left') ?? 0));
      return { status: 200, body: {} };
    }
    return { status: 404, body: { error: 'expected POST /sale, GET /stock or PUT /stock' } };
  };
  return createServer((request, response) => {
    answer(request)
      .catch((error: unknown): Answer => ({ status: 503, body: { error: String(error) } }))
      .then(({ status, body }) => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      });
  });
}
