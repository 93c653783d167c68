import { type ManualClock, must, type Random } from "@bulrush/base";
import { silentLogger } from "@bulrush/service";
import { Balancer, type BalancedStream, type BalancerSettings, type Reserve } from "../limit/balancer.ts";
import type { TyphaEndpoint } from "../limit/typha-endpoints.ts";

/** A connected client of the simulation. */
interface SimClient {
  readonly id: string;
  readonly type: string;
  server: SimServer | undefined;
  connectedAtMs: number;
  /** Since the last `forget`: how often a goodbye for balance moved it. */
  shed: number;
}

class SimServer {
  readonly address: string;
  readonly clients: Set<SimClient> = new Set();
  readonly balancer: Balancer;
  isReady = true;
  isGone = false;

  constructor(fleet: SimulatedFleet, address: string, settings: BalancerSettings) {
    this.address = address;
    this.balancer = new Balancer({
      settings,
      clock: fleet.clock,
      random: fleet.random,
      logger: silentLogger,
      metrics: { counted() {}, shed() {}, stuck() {}, cameBack() {} },
      instance: `instance of ${address}`,
      listTyphas: () => Promise.resolve(fleet.endpoints()),
      countNodes: () => fleet.nodes,
      askLoad: (other, reserve) => fleet.answer(other, reserve),
      streams: () => [...this.clients].map((client) => fleet.streamOf(client, this)),
      takesClients: () => this.isReady,
    });
    this.balancer.start();
  }
}

/**
 * For tests: servers with real balancers, and clients that do as ours do, on a clock that is moved by hand. A client
 * that is told to go tries the servers that it was told, in order, and else any; all moves take up to two seconds.
 */
export class SimulatedFleet {
  readonly clock: ManualClock;
  readonly random: Random;
  nodes: number;
  readonly #settings: BalancerSettings;
  readonly #types: readonly string[];
  readonly #servers: SimServer[] = [];
  readonly #clients: SimClient[] = [];
  #nextServer = 1;
  /** All goodbyes for balance. */
  sheds = 0;
  /** Those at a moment at which no other server had room. */
  badSheds = 0;

  constructor(options: {
    readonly clock: ManualClock;
    readonly random: Random;
    readonly settings: BalancerSettings;
    readonly nodes: number;
    readonly servers: number;
    readonly connections: number;
    /** Of the streams, in turn. Default: all are of one type. */
    readonly types?: readonly string[];
  }) {
    this.clock = options.clock;
    this.random = options.random;
    this.nodes = options.nodes;
    this.#settings = options.settings;
    this.#types = options.types ?? ["felix"];
    for (let i = 0; i < options.servers; i++) this.join();
    this.addClients(options.connections);
  }

  /** A new server, ready at once. */
  join(): void {
    this.#servers.push(new SimServer(this, `10.0.0.${this.#nextServer++}:5473`, this.#settings));
  }

  addClients(count: number): void {
    for (let i = 0; i < count; i++) {
      const index = this.#clients.length;
      const type = must(this.#types[index % this.#types.length], "a type");
      const client = { id: `client-${index}`, type, server: undefined, connectedAtMs: 0, shed: 0 };
      this.#clients.push(client);
      this.#connect(client, []);
    }
  }

  /** The oldest server drains: goodbyes at even distances, each naming others, over at most 60 s. */
  async drainOne(): Promise<void> {
    const server = must(this.#servers[0], "a server");
    server.isReady = false;
    const clients = [...server.clients];
    for (const client of clients) {
      // Moves are over two seconds later: whoever was told to come here just before is not among them.
      if (client.server === server) this.#leave(client, server.balancer.namePeers());
      await this.clock.advance(Math.min(1000, 60_000 / clients.length));
    }
    this.#servers.shift();
    server.isGone = true;
    server.balancer.stop();
    for (const client of server.clients) this.#leave(client, []);
  }

  /** The oldest server is gone at once. */
  crashOne(): void {
    const server = must(this.#servers.shift(), "a server");
    server.isGone = true;
    server.balancer.stop();
    for (const client of server.clients) this.#leave(client, []);
  }

  async run(minutes: number): Promise<void> {
    await this.clock.advance(minutes * 60_000);
  }

  stop(): void {
    for (const { balancer } of this.#servers) balancer.stop();
  }

  /** Largest and smallest number of streams of a server. */
  get counts(): readonly number[] {
    return this.#servers.map(({ clients }) => clients.size).toSorted((a, b) => a - b);
  }

  /** The same of one type. */
  countsOf(wanted: string): readonly number[] {
    const counts = this.#servers.map(({ clients }) => [...clients].filter(({ type }) => type === wanted).length);
    return counts.toSorted((a, b) => a - b);
  }

  /** Counts anew who is moved. */
  forget(): void {
    for (const client of this.#clients) client.shed = 0;
    this.sheds = 0;
    this.badSheds = 0;
  }

  get movedTwice(): number {
    return this.#clients.filter(({ shed }) => shed > 1).length;
  }

  endpoints(): readonly TyphaEndpoint[] {
    return this.#servers.filter(({ isReady }) => isReady).map(({ address }) => ({ id: address, addresses: [address] }));
  }

  answer(address: string, reserve: Reserve): ReturnType<ConstructorParameters<typeof Balancer>[0]["askLoad"]> {
    const server = this.#servers.find((one) => one.address === address);
    return server === undefined ? Promise.reject(new Error("refused")) : Promise.resolve(server.balancer.load(reserve));
  }

  streamOf(client: SimClient, server: SimServer): BalancedStream {
    return {
      clientId: client.id,
      type: client.type,
      connectedAtMs: client.connectedAtMs,
      goodbye: (_reason, peers) => {
        this.sheds++;
        const limitOf = ({ balancer }: SimServer): number => balancer.load(undefined).limit;
        const hasRoom = (other: SimServer): boolean =>
          other !== server && other.isReady && other.clients.size < limitOf(other);
        if (!this.#servers.some(hasRoom)) this.badSheds++;
        client.shed++;
        this.#leave(client, peers);
      },
    };
  }

  #leave(client: SimClient, peers: readonly string[]): void {
    client.server?.clients.delete(client);
    client.server = undefined;
    this.clock.after(50 + this.random() * 1950, () => this.#connect(client, peers));
  }

  #connect(client: SimClient, peers: readonly string[]): void {
    const ready = this.#servers.filter(({ isReady }) => isReady);
    const named = peers.flatMap((address) => ready.find((server) => server.address === address) ?? []);
    const server = named[0] ?? ready[Math.floor(this.random() * ready.length)];
    if (server === undefined) {
      this.#leave(client, []);
      return;
    }
    client.server = server;
    client.connectedAtMs = this.clock.nowMs();
    server.clients.add(client);
  }
}
