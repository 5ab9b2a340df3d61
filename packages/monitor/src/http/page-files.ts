/** Serves the files of the page: those that its manifest lists, read once, and no other. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PageManifest } from '../api/page-files.ts';
import { ownPage } from '../own-page.ts';
import { SAFE_HEADERS, text } from './responses.ts';

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  map: 'application/json',
};

/** A name with a hash in it never has other content. */
const HASHED = /\.[0-9a-zA-Z_-]{8,}\.(?:js|css|svg|png)$/;

export class PageFiles {
  readonly version: string;
  readonly #files = new Map<string, Uint8Array<ArrayBuffer>>();

  /** Throws when the folder has no manifest, or not the files that it lists. `null`: no page; not given: that of this package. */
  constructor(folder: string | null = ownPage()) {
    if (folder === null) {
      this.version = 'none';
      return;
    }
    const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as PageManifest;
    this.version = manifest.version;
    for (const name of manifest.files) {
      if (!/^[\w.-]+$/.test(name) || name.startsWith('.')) {
        throw new Error(`expected plain file names in the manifest of the page, got ${JSON.stringify(name)}`);
      }
      this.#files.set(name, new Uint8Array(readFileSync(join(folder, name))));
    }
  }

  /** `''` is the page itself. Null for what there is not. */
  serve(path: string): Response | null {
    if (path === '' && this.#files.size === 0) {
      return text(200, 'holdfast monitor: this build has no page. See api/v1/state and metrics.\n');
    }
    const name = path === '' ? 'index.html' : path;
    const content = this.#files.get(name);
    if (content === undefined) return null;
    const type = TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream';
    const caching = HASHED.test(name) ? { 'cache-control': 'public, max-age=31536000, immutable' } : {};
    return new Response(content, {
      status: 200,
      headers: { ...SAFE_HEADERS, 'content-type': type, ...caching },
    });
  }
}
