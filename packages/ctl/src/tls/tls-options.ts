import type { TLSParameters } from "@bulrush/sync-client";
import type { Arguments } from "../cli/arguments.ts";
import type { CommandIo } from "../cli/io.ts";
import type { OptionSpec } from "../cli/option.ts";

/** What a client of Typha is set up with. */
export const TLS_OPTIONS: readonly OptionSpec[] = [
  { name: "ca-file", value: "FILE", doc: "CA of Typha's certificate. Default: FELIX_TYPHACAFILE." },
  { name: "cert-file", value: "FILE", doc: "Our certificate. Default: FELIX_TYPHACERTFILE." },
  { name: "key-file", value: "FILE", doc: "Its key. Default: FELIX_TYPHAKEYFILE." },
  { name: "cn", value: "NAME", doc: "Common name that Typha's certificate must have. Default: FELIX_TYPHACN." },
  {
    name: "uri-san",
    value: "URI",
    doc: "URI that must be among its alternative names; with --cn either suffices. Default: FELIX_TYPHAURISAN.",
  },
];

/** The options, else the environment of an agent; FELIX_ wins over CALICO_. */
export function tlsParameters(args: Arguments, { env }: CommandIo): TLSParameters {
  const read = (option: string, field: string): string =>
    args.get(option) ?? settingOf(env, `FELIX_TYPHA${field}`) ?? settingOf(env, `CALICO_TYPHA${field}`) ?? "";
  return {
    caFile: read("ca-file", "CAFILE"),
    certFile: read("cert-file", "CERTFILE"),
    keyFile: read("key-file", "KEYFILE"),
    serverCN: read("cn", "CN"),
    serverURISAN: read("uri-san", "URISAN"),
  };
}

/** The value of a setting; undefined where it is empty or `none`. */
export function settingOf(env: CommandIo["env"], name: string): string | undefined {
  const value = env[name] ?? "";
  return value === "" || value.toLowerCase() === "none" ? undefined : value;
}
