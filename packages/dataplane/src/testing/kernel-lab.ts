import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeSync } from "node:fs";
import { bindFd, closeFd, openSocketFd, SOCKET } from "@bulrush/netlink";

/** How a connection attempt ended: made, refused by an answer, or no answer. */
export type Outcome = "connected" | "refused" | "silence";

/** packet(7): `struct sockaddr_ll` has 20 bytes. */
const AF_PACKET = 17;
const SOCKADDR_LL_BYTES = 20;

/** Silence for this long, counted from when the connecting program is up, is taken for a dropped packet. */
const PATIENCE_MS = 1500;
const GATEWAY = "169.254.1.1";
/** The link-local address of a host side's MAC address (RFC 4291, appendix A). */
const GATEWAY_6 = "fe80::ecee:eeff:feee:eeee";

const SERVER = `
const net = require("node:net");
const ports = process.argv.slice(1).map(Number);
let left = ports.length;
for (const port of ports)
  net.createServer((socket) => socket.on("data", (data) => socket.write(data)).on("error", () => {}))
    .listen(port, () => { if (--left === 0) console.log("ready"); });
`;

/** Keeps one connection open: each line on stdin is sent, and the echo is printed. */
const CLIENT = `
const [address, port] = process.argv.slice(1);
const socket = require("node:net").connect({ host: address, port: Number(port) }, () => console.log("open"));
socket.on("data", (data) => process.stdout.write(data)).on("error", () => {});
process.stdin.on("data", (data) => socket.write(data));
`;

/** Sends a word for each line "ADDRESS PORT WORD" on stdin, and prints the words that come. */
const DATAGRAMS = `
const [address, port] = process.argv.slice(1);
const socket = require("node:dgram").createSocket(address.includes(":") ? "udp6" : "udp4");
socket.on("message", (word) => process.stdout.write(word));
socket.bind(Number(port), address, () => process.stdout.write("ready"));
process.stdin.on("data", (data) => {
  for (const line of String(data).trim().split("\\n")) {
    const [to, toPort, word] = line.split(" ");
    socket.send(word, Number(toPort), to, () => {});
  }
});
`;

const FLOOD = `
const [address, port] = process.argv.slice(1);
const socket = require("node:dgram").createSocket("udp4");
const burst = () => {
  for (let i = 0; i < 100; i++) socket.send("x", Number(port), address);
  socket.send("x", Number(port), address, () => setImmediate(burst));
};
socket.on("error", () => {}).bind(burst);
`;

/** An open UDP socket of a pod or machine. */
export interface DatagramSocket {
  readonly send: (address: string, port: number, word: string) => void;
  /** The next word that comes; "" when none comes for a second. */
  readonly receive: () => Promise<string>;
}

/**
 * A host with pods and one outside machine, of real namespaces. The test's own namespace is the host:
 *
 *     pod a ─ eth0 ── calia ┐                 ┌ eth0 ── eth0 ─ ext (192.168.7.2)
 *     pod b ─ eth0 ── calib ┴ host (192.168.7.1)
 *
 * Pods reach the host through 169.254.1.1, as a CNI plugin sets them up. For `kernelTests` only: it needs network and
 * mount namespaces of its own.
 */
export class KernelLab {
  readonly #children: ChildProcess[] = [];

  constructor() {
    this.run("mount -t tmpfs tmpfs /run");
    mkdirSync("/run/netns", { recursive: true });
    this.run("ip link set lo up");
    this.run("ip netns add ext");
    this.run("ip link add eth0 type veth peer name eth0 netns ext");
    // Else a link-local address is tentative for two seconds, and no neighbour of IPv6 is asked for.
    for (const inside of ["", "ip netns exec ext "]) this.run(`${inside}sysctl -qw net.ipv6.conf.eth0.accept_dad=0`);
    this.run("ip addr add 192.168.7.1/24 dev eth0");
    this.run("ip link set eth0 up");
    this.run("ip -n ext addr add 192.168.7.2/24 dev eth0");
    this.run("ip -n ext link set eth0 up");
    this.run("ip -n ext link set lo up");
    this.run("ip -n ext route add 10.65.0.0/16 via 192.168.7.1");
  }

  /** A command of words without quotes. Throws when it fails. */
  run(command: string, input = ""): string {
    const [program = "", ...words] = command.split(" ");
    return execFileSync(program, words, { encoding: "utf8", input });
  }

  /** Programs foreign rules in nft's own syntax. */
  nft(rules: string): void {
    this.run("nft -f -", rules);
  }

  /** Gives host and outside machine IPv6 addresses, and the machine a route to the pods. Before the first pod. */
  addIpv6(host: string, ext: string, pods: string): void {
    this.run("sysctl -qw net.ipv6.conf.all.forwarding=1");
    for (const [words, address] of [
      ["ip", host],
      ["ip -n ext", ext],
    ])
      this.run(`${words} addr add ${address}/64 dev eth0 nodad`);
    this.run(`ip -n ext route add ${pods} via ${host}`);
  }

  /** A pod with an address of each family; its host side is `cali<name>`. */
  addPod(name: string, address: string, address6?: string): void {
    this.run(`ip netns add ${name}`);
    this.run(`ip link add cali${name} address ee:ee:ee:ee:ee:ee type veth peer name eth0 netns ${name}`);
    // Duplicate address detection would hold IPv6 back for a second or two.
    if (address6 !== undefined) {
      this.run(`sysctl -qw net.ipv6.conf.cali${name}.accept_dad=0`);
      this.run(`ip netns exec ${name} sysctl -qw net.ipv6.conf.eth0.accept_dad=0`);
    }
    this.run(`ip link set cali${name} up`);
    this.run(`ip -n ${name} link set lo up`);
    this.run(`ip -n ${name} addr add ${address}/32 dev eth0`);
    this.run(`ip -n ${name} link set eth0 up`);
    this.run(`ip -n ${name} route add ${GATEWAY} dev eth0 scope link`);
    this.run(`ip -n ${name} route add default via ${GATEWAY} dev eth0`);
    this.run(`ip -n ${name} neigh replace ${GATEWAY} lladdr ee:ee:ee:ee:ee:ee dev eth0 nud permanent`);
    if (address6 === undefined) return;
    this.run(`ip -n ${name} addr add ${address6}/128 dev eth0 nodad`);
    this.run(`ip -n ${name} route add default via ${GATEWAY_6} dev eth0`);
    this.run(`ip -n ${name} neigh replace ${GATEWAY_6} lladdr ee:ee:ee:ee:ee:ee dev eth0 nud permanent`);
  }

  /** Ends the programs that run in the namespace; what they had open is closed. */
  endPrograms(name: string): void {
    for (const pid of this.run(`ip netns pids ${name}`).split("\n"))
      if (pid !== "") process.kill(Number(pid), "SIGKILL");
  }

  /** Ends the programs of the pod, and takes its interface away. */
  removePod(name: string): void {
    this.endPrograms(name);
    this.run(`ip link del cali${name}`);
    this.run(`ip netns del ${name}`);
  }

  /** The hardware address of a pod's eth0. */
  macOf(name: string): string {
    const [link] = JSON.parse(this.run(`ip -j -n ${name} link show eth0`)) as [{ address: string }];
    return link.address;
  }

  /** Sends a frame, as hexadecimal text, out of a pod's eth0. */
  sendFrame(name: string, hex: string): void {
    const [link] = JSON.parse(this.run(`ip -j -n ${name} link show eth0`)) as [{ ifindex: number }];
    const fd = openSocketFd({ domain: AF_PACKET, type: SOCKET.SOCK_RAW, protocol: 0, namespace: `/run/netns/${name}` });
    const address = new Uint8Array(SOCKADDR_LL_BYTES);
    new DataView(address.buffer).setUint16(0, AF_PACKET, true);
    new DataView(address.buffer).setInt32(4, link.ifindex, true);
    bindFd(fd, address);
    writeSync(fd, Buffer.from(hex.replaceAll(" ", ""), "hex"));
    closeFd(fd);
  }

  /** Puts an IPv4 packet on the wire from a pod, or from "ext", to the host. */
  sendIpv4(name: string, packet: Buffer): void {
    const [host] = JSON.parse(this.run(`ip -j link show ${name === "ext" ? "eth0" : `cali${name}`}`)) as [
      { address: string },
    ];
    const macs = `${host.address}${this.macOf(name)}`.replaceAll(":", "");
    this.sendFrame(name, `${macs} 0800 ${packet.toString("hex")}`);
  }

  /** Echo servers on TCP ports; undefined for the host. */
  async serve(name: string | undefined, ...ports: readonly number[]): Promise<void> {
    const server = this.#spawn(name, process.execPath, ["-e", SERVER, ...ports.map(String)]);
    await once(server.stdout ?? server, "data");
  }

  /** A connection that stays: sends a word and resolves with the echo, or with "" when none comes. */
  async openConnection(name: string, address: string, port: number): Promise<(word: string) => Promise<string>> {
    const client = this.#spawn(name, process.execPath, ["-e", CLIENT, address, String(port)]);
    const { stdout } = client;
    if (stdout === null) throw new Error("No output of the client");
    await once(stdout, "data");
    return async (word) => {
      client.stdin?.write(word);
      const timer = AbortSignal.timeout(3000);
      const [data] = await once(stdout, "data", { signal: timer }).catch(() => [""]);
      return String(data);
    };
  }

  async openDatagrams(name: string, address: string, port: number): Promise<DatagramSocket> {
    const peer = this.#spawn(name, process.execPath, ["-e", DATAGRAMS, address, String(port)]);
    const { stdout } = peer;
    if (stdout === null) throw new Error("No output of the socket");
    const receive = async (): Promise<string> => {
      const [data] = await once(stdout, "data", { signal: AbortSignal.timeout(3000) }).catch(() => [""]);
      return String(data);
    };
    await once(stdout, "data");
    return { receive, send: (to, toPort, word) => peer.stdin?.write(`${to} ${toPort} ${word}\n`) };
  }

  /** UDP datagrams as fast as they go, until the lab closes. */
  flood(name: string, address: string, port: number): void {
    this.#spawn(name, process.execPath, ["-e", FLOOD, address, String(port)]);
  }

  /** Tries a TCP connection from a pod, from "ext", or (undefined) from the host. */
  async connect(name: string | undefined, address: string, port: number): Promise<Outcome> {
    const script = `echo up; exec 3<>/dev/tcp/${address}/${port}`;
    const words = ["bash", "-c", script];
    const [program = "", ...rest] = name === undefined ? words : ["ip", "netns", "exec", name, ...words];
    return new Promise((resolve) => {
      let isSilent = false;
      let timer: NodeJS.Timeout | undefined;
      const child = execFile(program, rest, (error) => {
        clearTimeout(timer);
        if (isSilent) resolve("silence");
        else resolve(error === null ? "connected" : "refused");
      });
      child.stdout?.once("data", () => {
        timer = setTimeout(() => {
          isSilent = true;
          child.kill("SIGKILL");
        }, PATIENCE_MS);
      });
    });
  }

  close(): void {
    for (const child of this.#children) child.kill("SIGKILL");
  }

  #spawn(name: string | undefined, program: string, words: readonly string[]): ChildProcess {
    const all = name === undefined ? [program, ...words] : ["ip", "netns", "exec", name, program, ...words];
    const child = spawn(all[0] ?? "", all.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
    this.#children.push(child);
    return child;
  }
}
