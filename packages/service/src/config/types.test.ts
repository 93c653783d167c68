import assert from "node:assert/strict";
import { test } from "node:test";
import type { ParameterType } from "./parameter.ts";
import {
  authority,
  bool,
  endpointList,
  file,
  host,
  int,
  oneOf,
  optional,
  port,
  seconds,
  text,
  textList,
  textMap,
} from "./types.ts";

const BAD = Symbol("bad");
type Row = readonly [text: string, want: unknown];

const tables: readonly [name: string, type: ParameterType<never> | ParameterType<unknown>, rows: readonly Row[]][] = [
  [
    "bool",
    bool(),
    [
      ...["true", "1", "yes", "y", "t", "TRUE", "Yes", "T"].map((word): Row => [word, true]),
      ...["false", "0", "no", "n", "f", "False", "N"].map((word): Row => [word, false]),
      ...["on", "off", "2", "truee"].map((word): Row => [word, BAD]),
    ],
  ],
  [
    "int",
    int(),
    [
      ["0", 0],
      ["10", 10],
      ["-7", -7],
      ["+7", 7],
      ["0x1F", 31],
      ["0o17", 15],
      ["017", 15],
      ["0b101", 5],
      ["-0x10", -16],
      ["2147483647", 2147483647],
      ["2147483648", BAD],
      ["-2147483648", -2147483648],
      ["-2147483649", BAD],
      ["99999999999999999999", BAD],
      ["018", BAD],
      ["1.5", BAD],
      ["1e3", BAD],
      ["0x", BAD],
      ["ten", BAD],
      ["1 2", BAD],
    ],
  ],
  [
    "int with a range",
    int({ min: 1, max: 3 }),
    [
      ["1", 1],
      ["3", 3],
      ["0", BAD],
      ["4", BAD],
    ],
  ],
  [
    "port",
    port(),
    [
      ["0", 0],
      ["65535", 65535],
      ["65536", BAD],
      ["-1", BAD],
    ],
  ],
  [
    "seconds",
    seconds(),
    [
      ["10", 10],
      ["0.01", 0.01],
      [".5", 0.5],
      ["5.", 5],
      ["-1.5", -1.5],
      ["1e-3", 0.001],
      ["inf", BAD],
      ["NaN", BAD],
      ["10s", BAD],
      ["1e999", BAD],
    ],
  ],
  [
    "oneOf",
    oneOf(["DEBUG", "INFO"]),
    [
      ["debug", "DEBUG"],
      ["Info", "INFO"],
      ["trace", BAD],
    ],
  ],
  ["text", text(), [["anything at all", "anything at all"]]],
  [
    "authority",
    authority(),
    [
      ["127.0.0.1:2379", "127.0.0.1:2379"],
      ["etcd.local:1", "etcd.local:1"],
      ["etcd", BAD],
      ["::1:2379", BAD],
      ["[::1]:2379", BAD],
      ["a/b:1", BAD],
      ["a:x", BAD],
      [":1", BAD],
    ],
  ],
  [
    "authority with IPv6",
    authority({ ipv6: true }),
    [
      ["[::1]:2379", "[::1]:2379"],
      ["typha:5473", "typha:5473"],
      ["::1:2379", BAD],
      ["[::1]", BAD],
    ],
  ],
  [
    "host",
    host(),
    [
      ["localhost", "localhost"],
      ["::1", "::1"],
      ["a_b-c.d+e", "a_b-c.d+e"],
      ["x".repeat(64), "x".repeat(64)],
      ["x".repeat(65), BAD],
      ["a b", BAD],
      ["a/b", BAD],
    ],
  ],
  [
    "endpointList",
    endpointList(),
    [
      ["http://a:1", ["http://a:1/"]],
      ["https://a:1/, https://b:2,,", ["https://a:1/", "https://b:2/"]],
      ["https://[::1]:2379", ["https://[::1]:2379/"]],
      ["http://a:1,https://b:2", BAD],
      ["http://a", BAD],
      ["http://a:1/path", BAD],
      ["http://u:p@a:1", BAD],
      ["http://a:1?x", BAD],
      ["http://a:99999", BAD],
      ["a:1", BAD],
    ],
  ],
  [
    "file that must exist",
    file({ mustExist: true }),
    [
      ["/exists", "/exists"],
      ["/missing", BAD],
    ],
  ],
  ["file", file({ mustExist: false }), [["/missing", "/missing"]]],
  ["textList", textList(), [["a, b,,c ", ["a", "b", "c"]]]],
  [
    "textMap",
    textMap(),
    [
      [
        "a=1, b=x=y",
        new Map([
          ["a", "1"],
          ["b", "x=y"],
        ]),
      ],
      ["a", BAD],
      ["=1", BAD],
    ],
  ],
  [
    "optional",
    optional(port()),
    [
      ["1", 1],
      ["x", BAD],
    ],
  ],
];
for (const [name, type, rows] of tables) {
  for (const [input, want] of rows) {
    test(`${name} ${want === BAD ? "refuses" : "reads"} "${input.slice(0, 30)}"`, () => {
      const result = type.parse(input, { fileExists: (path) => path === "/exists" });
      assert.deepEqual(result.ok ? result.value : BAD, want);
    });
  }
}

test("format() gives back what parse() read", () => {
  const context = { fileExists: () => true };
  for (const [type, written] of [
    [bool(), "true"],
    [int(), "31"],
    [seconds(), "0.01"],
    [endpointList(), "http://a:1/,http://b:2/"],
    [textMap(), "a=1,b=2"],
    [oneOf(["none", "kubernetes"]), "kubernetes"],
  ] as readonly [ParameterType<unknown>, string][]) {
    const result = type.parse(written, context);
    assert.ok(result.ok);
    assert.equal(type.format(result.value), written);
  }
});
