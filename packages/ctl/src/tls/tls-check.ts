import { systemClock } from "@bulrush/base";
import {
  chainOf,
  identityFinding,
  inspectFiles,
  inspectServer,
  parseServerAddress,
  type TLSFiles,
  type TLSFinding,
  tlsFromParameters,
  type TLSParameters,
} from "@bulrush/sync-client";
import type { Arguments } from "../cli/arguments.ts";
import type { Command } from "../cli/command.ts";
import type { CommandIo } from "../cli/io.ts";
import { usageError } from "../errors.ts";
import { outputFormat, outputOption, printItems } from "../output/format.ts";
import { settingOf, TLS_OPTIONS, tlsParameters } from "./tls-options.ts";

const FORMATS = ["text", "json", "ndjson", "yaml"] as const;

/** bulrushctl tls-check */
export const tlsCheck: Command = {
  name: "tls-check",
  summary: "Say what is wrong with the certificates between agents and Typha",
  usage: ["tls-check [--addr HOST:PORT] [OPTIONS]"],
  description: [
    "Looks at the certificates of the client side (an agent's settings), of the server side (Typha's settings, if they are given), and of a running Typha (with --addr), and says of each rule whether it holds: on which side, for which certificate, until which date. With both sides' files it also checks each against the other's CA and name.",
    "Exit 1 if any rule does not hold. No stream is begun.",
  ],
  options: [
    {
      name: "addr",
      value: "HOST:PORT",
      doc: "A Typha to dial. Default: FELIX_TYPHAADDR; without it only files are read.",
    },
    ...TLS_OPTIONS,
    { name: "server-ca-file", value: "FILE", doc: "Typha's CAFile. Default: TYPHA_CAFILE." },
    { name: "server-cert-file", value: "FILE", doc: "Typha's ServerCertFile. Default: TYPHA_SERVERCERTFILE." },
    { name: "server-key-file", value: "FILE", doc: "Typha's ServerKeyFile. Default: TYPHA_SERVERKEYFILE." },
    { name: "client-cn", value: "NAME", doc: "Typha's ClientCN. Default: TYPHA_CLIENTCN." },
    { name: "client-uri-san", value: "URI", doc: "Typha's ClientURISAN. Default: TYPHA_CLIENTURISAN." },
    outputOption(FORMATS, "text"),
  ],
  examples: [
    {
      what: "on a host, with its agent's settings in the environment: can the agent talk to this Typha?",
      line: "bulrushctl tls-check --addr 10.0.0.7:5473",
    },
    {
      what: "before a rollout: do the new files of both sides fit together?",
      line: "bulrushctl tls-check --ca-file ca.pem --cert-file felix.pem --key-file felix.key --cn typha-server --server-ca-file ca.pem --server-cert-file typha.pem --server-key-file typha.key --client-cn typha-client",
    },
  ],
  run: runTlsCheck,
};

interface ServerSettings extends TLSFiles {
  readonly rule: { readonly commonName?: string; readonly uri?: string };
}

async function runTlsCheck(args: Arguments, io: CommandIo): Promise<number> {
  const format = outputFormat(args, FORMATS, "text");
  const client = tlsParameters(args, io);
  const server = serverSettings(args, io);
  // Throws where some are missing.
  const source = tlsFromParameters(client);
  if (source === undefined && server === undefined)
    throw usageError(
      "No TLS settings are given: see --ca-file and --server-ca-file, or set FELIX_TYPHACAFILE and so on",
    );
  const findings = [...(await inspectSides(client, server, source !== undefined))];
  const address = args.get("addr") ?? settingOf(io.env, "FELIX_TYPHAADDR");
  if (address !== undefined && source !== undefined && findings.every(({ ok, side }) => ok || side === "server")) {
    const clock = systemClock({ keepAlive: true });
    findings.push(...(await inspectServer({ address: parseServerAddress(address), tls: await source(), clock })));
  }
  if (format === "text") for (const finding of findings) await io.out.write(lineOf(finding, io));
  else await printItems(io.out, format, findings);
  return findings.every(({ ok }) => ok) ? 0 : 1;
}

/** Both sides by their files, and each against the other. */
async function inspectSides(
  parameters: TLSParameters,
  server: ServerSettings | undefined,
  hasClient: boolean,
): Promise<readonly TLSFinding[]> {
  const nowMs = Date.now();
  const { caFile = "", certFile = "", keyFile = "", serverCN = "", serverURISAN = "" } = parameters;
  const ours = hasClient ? await inspectFiles("client", { caFile, certFile, keyFile }, nowMs) : undefined;
  const theirs = server === undefined ? undefined : await inspectFiles("server", server, nowMs);
  const findings = [...(ours?.findings ?? []), ...(theirs?.findings ?? [])];
  if (ours?.certificate === undefined || theirs?.certificate === undefined || server === undefined) return findings;
  const rule = { ...(serverCN !== "" && { commonName: serverCN }), ...(serverURISAN !== "" && { uri: serverURISAN }) };
  findings.push(
    { ...chainOf("client", ours.certificate, theirs.authorities), rule: "certificate chains to Typha's CA" },
    identityFinding("client", ours.certificate, server.rule),
    { ...chainOf("server", theirs.certificate, ours.authorities), rule: "certificate chains to the client's CA" },
    identityFinding("server", theirs.certificate, rule),
  );
  return findings;
}

function serverSettings(args: Arguments, { env }: CommandIo): ServerSettings | undefined {
  const read = (option: string, name: string): string => args.get(option) ?? settingOf(env, `TYPHA_${name}`) ?? "";
  const files = {
    caFile: read("server-ca-file", "CAFILE"),
    certFile: read("server-cert-file", "SERVERCERTFILE"),
    keyFile: read("server-key-file", "SERVERKEYFILE"),
  };
  const [commonName, uri] = [read("client-cn", "CLIENTCN"), read("client-uri-san", "CLIENTURISAN")];
  const all = [...Object.values(files), commonName + uri];
  if (all.every((value) => value === "")) return undefined;
  if (all.some((value) => value === ""))
    throw usageError(
      "Typha's TLS settings are set in part: CA, certificate, key, and a client name or URI belong together",
    );
  return { ...files, rule: { ...(commonName !== "" && { commonName }), ...(uri !== "" && { uri }) } };
}

function lineOf({ side, rule, ok, detail }: TLSFinding, { out }: CommandIo): string {
  const mark = ok ? out.style("green", "ok   ") : out.style("red", "WRONG");
  return `${mark} ${side}: ${rule}: ${detail}\n`;
}
