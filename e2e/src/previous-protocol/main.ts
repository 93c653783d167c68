/**
 * `node --import .../previous-protocol/main.ts PROGRAM`: a program of ours that speaks the sync protocol's previous version
 * at most, as the one that an upgrade replaces. It says so on standard error.
 */
import { registerHooks } from "node:module";

const VERSIONS = "/proto/src/sync/versions.ts";
const OWN = /export const PROTOCOL_VERSION = (\d+);/;

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.endsWith(VERSIONS)) return loaded;
    const source =
      loaded.source === undefined || loaded.source === null ? "" : Buffer.from(loaded.source as Uint8Array).toString();
    const version = Number(OWN.exec(source)?.[1]) - 1;
    if (!(version > 0)) throw new Error(`${url} has no version before its own`);
    process.stderr.write(`speaking version ${version} of the sync protocol at most\n`);
    return { ...loaded, source: source.replace(OWN, `export const PROTOCOL_VERSION = ${version};`) };
  },
});
