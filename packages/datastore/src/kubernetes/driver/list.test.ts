import assert from "node:assert/strict";
import { test } from "node:test";
import {
  asked,
  codeOf,
  driverFixture,
  listAll,
  SERVICES,
  service,
  tier,
  TIERS,
  until,
} from "../testing/driver-fixture.ts";
import { type Fault, status } from "../testing/fake-api-server.ts";

/** Takes requests of one list in the server's place, the first ones `times` times. */
function faultOn(root: string, fault: Fault, times = Number.POSITIVE_INFINITY): Fault {
  let left = times;
  return (request, answer) => (request.path === root && left-- > 0 ? fault(request, answer) : undefined);
}

test("list() asks for any recent state first, and for the newest one after that", async (t) => {
  const { server, driver } = await driverFixture(t);
  await listAll(driver, "Tier");
  await listAll(driver, "Tier");
  await listAll(driver, "Tier", { revision: "1" });
  assert.deepEqual(asked(server.requests, TIERS), [
    "list limit=500 resourceVersion=0 resourceVersionMatch=NotOlderThan",
    "list limit=500",
    "list limit=500 resourceVersion=1 resourceVersionMatch=NotOlderThan",
  ]);
});

test("list() streams where the server does, and takes pages where it will not", async (t) => {
  const { server, driver, logged } = await driverFixture(t);
  server.minor = "36+";
  server.put(tier("a"));
  const stream = "watch resourceVersion=0 resourceVersionMatch=NotOlderThan sendInitialEvents=true";
  const listed = await listAll(driver, "Tier");
  assert.deepEqual(
    listed.items.map(({ name }) => name),
    ["a"],
  );
  assert.equal(listed.revision, String(server.objects.revision));
  assert.deepEqual(asked(server.requests, TIERS), [stream]);
  server.faults.push(
    faultOn(SERVICES, (request, answer) => {
      if (!request.query.has("sendInitialEvents")) return undefined;
      status(
        answer,
        422,
        "Invalid",
        "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
      );
      return true;
    }),
  );
  await listAll(driver, "KubernetesService");
  assert.deepEqual(asked(server.requests, SERVICES), [
    stream,
    "list limit=500 resourceVersion=0 resourceVersionMatch=NotOlderThan",
  ]);
  assert.ok(logged.includes("A list could not be streamed and is read in pages"));
  // The server has said no: it is not asked for streams again.
  await listAll(driver, "Tier");
  assert.equal(asked(server.requests, TIERS).at(-1), "list limit=500");
});

test("list() takes pages when an etcd that is too old shows in the stream", async (t) => {
  const { server, driver } = await driverFixture(t);
  server.minor = "36";
  server.put(tier("a"));
  server.faults.push(
    faultOn(TIERS, (request, answer) => {
      if (!request.query.has("sendInitialEvents")) return undefined;
      const object = { kind: "Status", code: 500, message: "etcd: unknown method" };
      answer.writeHead(200).end(`${JSON.stringify({ type: "ERROR", object })}\n`);
      return true;
    }),
  );
  assert.deepEqual(
    (await listAll(driver, "Tier")).items.map(({ name }) => name),
    ["a"],
  );
});

/** A streamed list that begins with so many tiers and then goes wrong. */
function brokenStream(tiers: number, event: object | undefined): Fault {
  return (_, answer) => {
    const added = Array.from({ length: tiers }, (__, i) => {
      const object = { ...tier("a"), metadata: { name: `a-${i}`, resourceVersion: "2" } };
      return `${JSON.stringify({ type: "ADDED", object })}\n`;
    });
    answer.writeHead(200);
    // In two pieces, so that the first one is read.
    answer.write(added.join(""));
    setImmediate(() => answer.end(event === undefined ? "" : `${JSON.stringify(event)}\n`));
    return true;
  };
}

for (const [what, event] of [
  ["ends before its end", undefined],
  ["tells of a deletion", { type: "DELETED", object: tier("a") }],
] as const) {
  test(`list() fails as a whole when its stream ${what}, and takes pages once`, async (t) => {
    const { server, driver, clock } = await driverFixture(t);
    server.minor = "36";
    server.put(tier("a"));
    server.faults.push(faultOn(TIERS, brokenStream(1000, event), 1));
    assert.equal(await codeOf(listAll(driver, "Tier")), "DATASTORE_FAILED");
    await clock.advance(1000);
    assert.deepEqual(
      (await listAll(driver, "Tier")).items.map(({ name }) => name),
      ["a"],
    );
    assert.match(asked(server.requests, TIERS).at(-1) ?? "", /^list limit=500/);
    await listAll(driver, "Tier");
    assert.match(asked(server.requests, TIERS).at(-1) ?? "", /^watch .*sendInitialEvents/);
  });

  test(`list() takes pages at once when its stream ${what} before anything was given out`, async (t) => {
    const { server, driver } = await driverFixture(t);
    server.minor = "36";
    server.put(tier("a"));
    server.faults.push(faultOn(TIERS, brokenStream(1, event), 1));
    assert.deepEqual(
      (await listAll(driver, "Tier")).items.map(({ name }) => name),
      ["a"],
    );
    assert.match(asked(server.requests, TIERS).at(-1) ?? "", /^list limit=500/);
  });
}

test("list() is never streamed from a server that may not know how", async (t) => {
  const { server, driver } = await driverFixture(t);
  server.minor = "31";
  await listAll(driver, "Tier");
  assert.ok(!asked(server.requests, TIERS).some((request) => request.includes("sendInitialEvents")));
});

test("list() reads all pages; a state that is forgotten between two of them ends it, and then it is read in one", async (t) => {
  const { server, driver } = await driverFixture(t);
  for (let i = 0; i < 1200; i++) server.put(service(`s-${i}`));
  await listAll(driver, "KubernetesService");
  const all = await listAll(driver, "KubernetesService");
  assert.equal(all.items.length, 1200);
  assert.deepEqual(asked(server.requests, SERVICES).slice(1), [
    "list limit=500",
    "list limit=500 continue",
    "list limit=500 continue",
  ]);
  let pages = 0;
  await assert.rejects(
    async () => {
      const { signal } = new AbortController();
      for await (const _ of driver.list({ kind: "KubernetesService", revision: "0", signal })) {
        if (++pages === 1) {
          server.put(service("new"));
          server.objects.compact();
        }
      }
    },
    { code: "DATASTORE_EXPIRED" },
  );
  assert.ok(pages >= 1);
  assert.equal((await listAll(driver, "KubernetesService")).items.length, 1201);
  assert.equal(asked(server.requests, SERVICES).at(-1), "list");
  await listAll(driver, "KubernetesService");
  assert.ok(asked(server.requests, SERVICES).at(-3) === "list limit=500");
});

test("list() takes a lone 404 for a failure: only a server that says so has no such list", async (t) => {
  const { server, driver, clock } = await driverFixture(t);
  server.put(tier("a"));
  server.faults.push(
    faultOn(
      TIERS,
      (_, answer) => {
        status(answer, 404, "NotFound", "the server could not find the requested resource");
        return true;
      },
      1,
    ),
  );
  assert.equal(await codeOf(listAll(driver, "Tier")), "DATASTORE_FAILED");
  await clock.advance(1000);
  assert.equal((await listAll(driver, "Tier")).items.length, 1);
});

test("list() of a missing CRD asks the server only what it has, and finds the CRD soon after it is there", async (t) => {
  const { server, driver, clock } = await driverFixture(t);
  const crd = server.served.get(TIERS);
  assert.ok(crd !== undefined);
  server.served.delete(TIERS);
  const wanted = "The server has no tiers of crd.projectcalico.org/v1";
  assert.deepEqual(await listAll(driver, "Tier"), { items: [], revision: "", missing: wanted, pages: 1 });
  for (let i = 0; i < 5; i++) {
    await clock.advance(5000);
    assert.equal((await listAll(driver, "Tier")).missing, wanted);
  }
  assert.equal(asked(server.requests, TIERS).length, 1);
  server.served.set(TIERS, crd);
  server.put(tier("a"));
  await clock.advance(5000);
  assert.deepEqual(
    (await listAll(driver, "Tier")).items.map(({ name }) => name),
    ["a"],
  );
});

test("full lists run one at a time; one of a single item does not wait", async (t) => {
  const { server, driver } = await driverFixture(t);
  let open = 0;
  let most = 0;
  const held: (() => void)[] = [];
  server.faults.push((request, answer) => {
    if (!request.query.has("limit") || request.query.has("fieldSelector")) return undefined;
    most = Math.max(most, ++open);
    held.push(() => {
      open--;
      answer.end(JSON.stringify({ metadata: { resourceVersion: "5" }, items: [] }));
    });
    return true;
  });
  const kinds = ["Tier", "IPPool", "KubernetesService", "GlobalNetworkSet"] as const;
  const all = Promise.all(kinds.map((kind) => listAll(driver, kind)));
  for (let i = 0; i < kinds.length; i++) {
    await until("a list is asked for", () => held.length > 0);
    if (i === 0) {
      const { signal } = new AbortController();
      for await (const _ of driver.list({ kind: "Node", name: "a", revision: "0", signal }));
    }
    held.shift()?.();
  }
  await all;
  assert.equal(most, 1);
});

test("list() gives up a server that does not answer, or stops in the middle, and the next one has its turn", async (t) => {
  const { server, driver, clock } = await driverFixture(t);
  const silent: Fault = () => true;
  const half: Fault = (_, answer) => {
    answer.writeHead(200).write('{"metadata":{"resourceVersion":"1"},"items":[{"metadata":');
    return true;
  };
  for (const fault of [silent, half]) {
    server.faults.splice(0, server.faults.length, faultOn(TIERS, fault));
    const before = asked(server.requests, TIERS).length;
    const failing = codeOf(listAll(driver, "Tier"));
    await until("it is asked", () => asked(server.requests, TIERS).length > before);
    const next = listAll(driver, "IPPool");
    // The answer has begun by then; its silence is counted from there.
    for (let i = 0; i < 20; i++) await clock.advance(10_000);
    assert.equal(await failing, "DATASTORE_TIMEOUT");
    await next;
  }
});

test("list() asks for the newest state also after a first list that failed halfway", async (t) => {
  const { server, driver, clock } = await driverFixture(t);
  const objects = Array.from({ length: 500 }, (_, i) => ({
    metadata: { name: `s-${i}`, namespace: "shop", resourceVersion: "5" },
  }));
  const cut: Fault = (_, answer) => {
    const page = JSON.stringify(objects).slice(0, -1);
    answer.writeHead(200, { "content-length": "1000000" });
    answer.write(`{"metadata":{},"items":${page}`, () => answer.destroy());
    return true;
  };
  server.faults.push(faultOn(SERVICES, cut, 1));
  let items = 0;
  await assert.rejects(async () => {
    const { signal } = new AbortController();
    for await (const page of driver.list({ kind: "KubernetesService", revision: "0", signal }))
      items += page.items.length;
  });
  assert.equal(items, 500);
  await clock.advance(10_000);
  await listAll(driver, "KubernetesService");
  assert.deepEqual(asked(server.requests, SERVICES), [
    "list limit=500 resourceVersion=0 resourceVersionMatch=NotOlderThan",
    "list limit=500",
  ]);
});

test("list() fails when the answer is cut, or is no list", async (t) => {
  const { server, driver, clock } = await driverFixture(t);
  const cut: Fault = (_, answer) => {
    answer.writeHead(200, { "content-length": "1000" }).write('{"metadata":{},"items":[]');
    setImmediate(() => answer.destroy());
    return true;
  };
  const noList: Fault = (_, answer) => {
    answer.end(JSON.stringify({ kind: "Status", status: "Success" }));
    return true;
  };
  server.faults.push(faultOn(TIERS, cut, 1));
  assert.equal(await codeOf(listAll(driver, "Tier")), "DATASTORE_CONNECTION_REFUSED");
  await clock.advance(10_000);
  server.faults.splice(0, 1, faultOn(TIERS, noList, 1));
  assert.equal(await codeOf(listAll(driver, "Tier")), "DATASTORE_MALFORMED");
});

for (const items of ['"items":{}', '"items":1', String.raw`"it\u0065ms":[{}]`, '"other":[]']) {
  test(`list() does not take an answer with ${items} for an empty list`, async (t) => {
    const { server, driver } = await driverFixture(t);
    const answered: Fault = (_, answer) => {
      answer.end(`{"metadata":{"resourceVersion":"9"},${items}}`);
      return true;
    };
    server.faults.push(faultOn(TIERS, answered, 1));
    assert.equal(await codeOf(listAll(driver, "Tier")), "DATASTORE_MALFORMED");
  });
}

test("list() waits as long as a server asks that is too busy", async (t) => {
  const { server, driver, clock } = await driverFixture(t);
  server.faults.push(
    faultOn(
      TIERS,
      (_, answer) => {
        status(answer, 429, "TooManyRequests", "slow down", {}, { "retry-after": "7" });
        return true;
      },
      1,
    ),
  );
  assert.equal(await codeOf(listAll(driver, "Tier")), "DATASTORE_TOO_MANY_REQUESTS");
  let isDone = false;
  const next = listAll(driver, "Tier").then(() => {
    isDone = true;
  });
  await clock.advance(7500);
  assert.equal(isDone, false);
  await clock.advance(500);
  await next;
});

test("list() reads the credentials again when they are refused", async (t) => {
  const { server, driver, clock } = await driverFixture(t, {});
  server.faults.push(
    faultOn(
      TIERS,
      (_, answer) => {
        status(answer, 401, "Unauthorized", "Unauthorized");
        return true;
      },
      1,
    ),
  );
  await clock.advance(20_000);
  assert.equal(await codeOf(listAll(driver, "Tier")), "DATASTORE_UNAUTHORIZED");
  await clock.advance(1000);
  await listAll(driver, "Tier");
  assert.equal(server.requests.at(-1)?.authorization, "Bearer a-token");
});

test("list() says that nobody is there", async (t) => {
  const { server, driver } = await driverFixture(t);
  await server.stop();
  assert.equal(await codeOf(listAll(driver, "Tier")), "DATASTORE_CONNECTION_REFUSED");
  await server.start();
});

test("list() stops when its signal aborts, wherever it is", async (t) => {
  const { server, driver, clock } = await driverFixture(t);
  const silent: Fault = () => true;
  for (const root of ["/apis", TIERS]) {
    server.faults.splice(0, server.faults.length, faultOn(root, silent));
    const abort = new AbortController();
    const listing = listAll(driver, "Tier", { signal: abort.signal });
    await until("it is asked", () => server.requests.at(-1)?.path === root);
    abort.abort(new Error("enough"));
    await assert.rejects(listing, /enough/);
    server.faults.length = 0;
    // What was asked of the server in general goes on for others, and is given up in the end.
    await clock.advance(120_000);
    await listAll(driver, "Tier");
  }
});

test("list() names an object that has not even a name, and goes on", async (t) => {
  const { server, driver, problems } = await driverFixture(t);
  server.faults.push(
    faultOn(
      TIERS,
      (_, answer) => {
        const good = { metadata: { name: "good", resourceVersion: "4" }, spec: {} };
        const items = [{ spec: {} }, { metadata: { name: "", resourceVersion: "2" } }, null, good];
        answer.end(JSON.stringify({ metadata: { resourceVersion: "5" }, items }));
        return true;
      },
      1,
    ),
  );
  assert.deepEqual(
    (await listAll(driver, "Tier")).items.map(({ name }) => name),
    ["good"],
  );
  assert.deepEqual(
    problems().map(({ kind, message }) => `${kind ?? ""}: ${message}`),
    [
      "Tier: An object without metadata",
      'Tier: An object without a name or namespace: ""',
      "Tier: An object without metadata",
    ],
  );
  await listAll(driver, "Tier");
  assert.deepEqual(problems(), []);
});

const GROUPS: readonly (readonly [served: readonly string[], chosen: string | undefined, want: string])[] = [
  [["crd.projectcalico.org/v1"], undefined, "crd.projectcalico.org/v1"],
  [["projectcalico.org/v3"], undefined, "projectcalico.org/v3"],
  [["crd.projectcalico.org/v1", "projectcalico.org/v3"], undefined, "crd.projectcalico.org/v1"],
  [["crd.projectcalico.org/v1", "projectcalico.org/v3"], "projectcalico.org/v3", "projectcalico.org/v3"],
  [[], undefined, "crd.projectcalico.org/v1"],
];

for (const [groups, chosen, want] of GROUPS) {
  test(`with ${groups.join(" and ") || "no group"} served and ${chosen ?? "none"} chosen, tiers are those of ${want}`, async (t) => {
    const { server, driver } = await driverFixture(t, chosen === undefined ? {} : { apiGroup: "projectcalico.org/v3" });
    for (const [root, collection] of [...server.served].filter(([path]) => path.includes("projectcalico"))) {
      server.served.delete(root);
      for (const apiVersion of groups) {
        const renamed = collection.kind === "IPAMConfig" && apiVersion === "projectcalico.org/v3";
        const plural = renamed ? "ipamconfigurations" : collection.plural;
        server.served.set(`/apis/${apiVersion}/${plural}`, { ...collection, plural, apiVersion });
      }
    }
    await listAll(driver, "Tier");
    const last = server.requests.findLast(({ path }) => path.endsWith("/tiers") || path === `/apis/${want}`);
    assert.ok(last?.path.startsWith(`/apis/${want}`));
    const config = await listAll(driver, "IPAMConfig");
    assert.equal(config.missing === undefined, groups.includes(want));
  });
}

test("the group of Calico's kinds is looked for again while there is none", async (t) => {
  const { server, driver, clock } = await driverFixture(t);
  const crds = [...server.served].filter(([root]) => root.includes("projectcalico"));
  for (const [root] of crds) server.served.delete(root);
  assert.match((await listAll(driver, "Tier")).missing ?? "", /crd\.projectcalico\.org/);
  for (const [, collection] of crds) {
    const apiVersion = "projectcalico.org/v3";
    server.served.set(`/apis/${apiVersion}/${collection.plural}`, { ...collection, apiVersion });
  }
  server.put({ ...tier("a"), apiVersion: "projectcalico.org/v3" });
  await clock.advance(5000);
  assert.deepEqual(
    (await listAll(driver, "Tier")).items.map(({ name }) => name),
    ["a"],
  );
});

test("a server that does not say what it has keeps Calico's kinds in their older group", async (t) => {
  const { server, driver } = await driverFixture(t);
  server.put(tier("a"));
  server.faults.push(
    faultOn("/apis", (_, answer) => {
      status(answer, 403, "Forbidden", "no");
      return true;
    }),
  );
  assert.equal((await listAll(driver, "Tier")).items.length, 1);
});
