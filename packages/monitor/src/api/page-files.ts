/**
 * The files of the page. The page's build writes them to `packages/monitor/dist/page/`, with a manifest:
 *
 *     dist/page/manifest.json   { "version": "<hash of all>", "files": ["index.html", "app.3f2a….js", "app.91bc….css"] }
 *     dist/page/index.html      refers to the others by relative names only
 *     dist/page/app.<hash>.js   content hash in the name: served with `immutable`
 *
 * `index.html` is served at `./` with `no-store`; every other file under its own name, and no file that the manifest does not
 * list. Tests serve the built folder, or a folder of their own by `pageFolder`.
 */
export interface PageManifest {
  /** `StreamEvents.hello.version` and `State.version`: a page of another version reloads. */
  readonly version: string;
  readonly files: readonly string[];
}
