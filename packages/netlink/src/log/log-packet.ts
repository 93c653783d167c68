/** One packet that a `log group N` rule has handed up. */
export interface LogPacket {
  readonly group: number;
  /** As the rule says it. */
  readonly prefix: string;
  /** Indices of the devices that it came in and goes out by; missing at hooks that know none. */
  readonly inDevice?: number;
  readonly outDevice?: number;
  readonly mark: number;
  /** `enum nf_inet_hooks`: pre-routing 0, input 1, forward 2, output 3, post-routing 4. */
  readonly hook: number;
  readonly source: string;
  readonly destination: string;
  /** IANA protocol number; of IPv6, the first header behind the extension headers. */
  readonly protocol: number;
  /** Of TCP, UDP, SCTP, DCCP and UDP-Lite; missing in a fragment that is not the first. */
  readonly sourcePort?: number;
  readonly destinationPort?: number;
  /** Of ICMP and ICMPv6. */
  readonly icmp?: { readonly type: number; readonly code: number };
}

/** Callbacks run on the thread that opened the monitor. */
export interface LogMonitorOptions {
  /** Groups to take, each by one socket of the namespace alone: EPERM where another program has one. */
  readonly groups: readonly number[];
  /** Bytes of each packet that come along: the headers suffice. Default 128. */
  readonly snapBytes?: number;
  /** Bytes that wait in the kernel at most. Default 1 MiB; what does not fit is lost and told. */
  readonly receiveBufferBytes?: number;
  /** Path or open file descriptor of the namespace. Default: the calling thread's. */
  readonly namespace?: string | number;
  /** Those of one burst, in the kernel's order. Never from inside `open` or `close`. */
  readonly onPackets: (packets: readonly LogPacket[]) => void;
  /** Some did not fit, or could not be read. */
  readonly onLost: () => void;
  /** The monitor has ended by itself. */
  readonly onError: (error: Error) => void;
}

/** Takes packets off the kernel's log groups. The caller closes it. */
export interface LogMonitor {
  /** Stops at once; no callback comes after it. Resolves when the file descriptor is closed. */
  close(): Promise<void>;
}
