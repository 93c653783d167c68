import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

const ROOT: string = join(import.meta.dirname, "..", "..", "..");

const DEMO_DATASTORES = ["file", "kubernetes", "etcdv3"] as const;
export type DemoDatastore = (typeof DEMO_DATASTORES)[number];

export interface DemoArguments {
  readonly once: boolean;
  readonly json: boolean;
  /** File or directory. */
  readonly path: string;
  /** True for the sample that comes with the clone. */
  readonly isSample: boolean;
  /** What Typha reads: the directory, or a server that is filled from it. */
  readonly datastore: DemoDatastore;
}

export const DEMO_HELP = `Usage: npm start -- [--once] [-f PATH] [-o json] [--datastore file|kubernetes|etcdv3]

A small cluster on this machine alone: every Node of the manifests becomes a host, every Pod a network namespace that
listens on its containerPorts. One Typha, an agent on each host. Every pod tries to reach every other pod's ports; the
table shows what really connected, and is compared with what 'bulrushctl explain' says. Then edit the manifests: the
table comes again, with the time from your save to the kernels. The console of the Typha can be seen in a browser
meanwhile, at http://localhost:9097/ or where the demo says.

Nothing of this machine's own network is touched, and no root is needed where the kernel lets users make namespaces.

Options:
  -f, --file PATH     Your own manifests, a file or a directory. Default: the sample in e2e/demo.
      --once          One table, then the end. Exit code 0 when reality and explanation agree.
  -o, --output json   The answers as JSON; the last line is {"flows":[...]}.
      --datastore T   Where Typha reads: file (the manifests themselves; the default), or kubernetes or etcdv3 (a real
                      kube-apiserver or etcd inside the demo, filled from them; needs 'npm run setup:kube' once).
  -h, --help          Show this help.
`;

/** Reads the command line. A string is what is wrong with it. */
export function parseDemoArguments(args: readonly string[]): DemoArguments | "help" | { readonly wrong: string } {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        file: { type: "string", short: "f" },
        once: { type: "boolean", default: false },
        output: { type: "string", short: "o" },
        datastore: { type: "string", default: "file" },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    if (values.help) return "help";
    if (values.output !== undefined && values.output !== "json") return { wrong: `Unknown output '${values.output}'` };
    const datastore = DEMO_DATASTORES.find((one) => one === values.datastore);
    if (datastore === undefined) return { wrong: `Unknown datastore '${values.datastore}'` };
    // npm runs scripts in the root of the clone; a relative path is meant from where the user stands.
    const base = process.env["INIT_CWD"] ?? process.cwd();
    const path = values.file === undefined ? join(ROOT, "e2e", "demo") : resolve(base, values.file);
    if (!existsSync(path)) return { wrong: `There is nothing at '${path}'` };
    return { once: values.once, json: values.output === "json", path, isSample: values.file === undefined, datastore };
  } catch (error) {
    return { wrong: (error as Error).message };
  }
}
