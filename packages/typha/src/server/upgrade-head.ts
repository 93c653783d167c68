import { SYNC_PATH, SYNC_SUBPROTOCOL } from "@bulrush/proto";

/** Where the other servers ask how many streams this one has. `?reserve` announces a client, `?reserve=TYPE` its type. */
const LOAD_PATH = "/v1/load";
const LOAD_URL = /^\/v1\/load(?:\?reserve(?:=([a-z-]{1,32}))?)?$/;

/** `reserve`: the type of the stream that is announced; "": not told; undefined: none is. */
export function loadPath(reserve: string | undefined): string {
  if (reserve === undefined) return LOAD_PATH;
  return reserve === "" ? `${LOAD_PATH}?reserve` : `${LOAD_PATH}?reserve=${reserve}`;
}

/** The head of an HTTP request is read up to here; a client of ours sends some 300 bytes. */
export const MAX_HEAD_BYTES: number = 8 * 1024;

/** The parts of an HTTP request that the websocket handshake looks at. Header names are in lower case. */
export interface UpgradeRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export type HeadResult =
  | { readonly state: "more" }
  | { readonly state: "bad"; readonly httpStatus: number; readonly reason: string }
  /** Another server asks for this one's load; `reserve` as of `loadPath`. */
  | { readonly state: "load"; readonly reserve: string | undefined }
  | { readonly state: "complete"; readonly request: UpgradeRequest; readonly rest: Buffer };

const END_OF_HEAD = Buffer.from("\r\n\r\n");
const REQUEST_LINE = /^([A-Z]+) (\S+) HTTP\/1\.1$/;
/** A token, a colon, and visible text (RFC 9112 section 5; no line folding). */
const HEADER_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x20-\x7e\t]*)$/;

/**
 * Reads the upgrade request of a sync client out of what has come so far. By hand, because an HTTP server in front
 * costs 0.2 ms of CPU per connection and has many features that are only risks here.
 */
export function readUpgradeHead(received: Buffer): HeadResult {
  const end = received.indexOf(END_OF_HEAD);
  if (end < 0) {
    if (received.length > MAX_HEAD_BYTES) return bad(431, `The request head is over ${MAX_HEAD_BYTES} bytes`);
    return couldBeHttp(received) ? { state: "more" } : bad(400, "This is not an HTTP request");
  }
  if (end > MAX_HEAD_BYTES) return bad(431, `The request head is over ${MAX_HEAD_BYTES} bytes`);
  const [requestLine = "", ...lines] = received.toString("latin1", 0, end).split("\r\n");
  const [, method, url] = REQUEST_LINE.exec(requestLine) ?? [];
  if (method === undefined || url === undefined) return bad(400, "This is not an HTTP/1.1 request");
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name, value] = HEADER_LINE.exec(line) ?? [];
    if (name === undefined || value === undefined) return bad(400, "A header line is malformed");
    const lower = name.toLowerCase();
    const before = Object.hasOwn(headers, lower) ? headers[lower] : undefined;
    headers[lower] = before === undefined ? value.trim() : `${before}, ${value.trim()}`;
  }
  const request: UpgradeRequest = { method, url, headers };
  return checkRequest(request) ?? { state: "complete", request, rest: received.subarray(end + END_OF_HEAD.length) };
}

/** An answer in JSON; the connection is closed after it. */
export function formatHttpAnswer(body: string): string {
  return (
    `HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}

/** An answer for a request that is refused; the connection is closed after it. */
export function formatHttpError(httpStatus: number, reason: string): string {
  const body = `${reason}\n`;
  const extra = httpStatus === 405 ? "Allow: GET\r\n" : httpStatus === 426 ? "Upgrade: websocket\r\n" : "";
  return (
    `HTTP/1.1 ${httpStatus} ${STATUS_TEXTS[httpStatus] ?? "Error"}\r\n${extra}Connection: close\r\n` +
    `Content-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}

const STATUS_TEXTS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  426: "Upgrade Required",
  431: "Request Header Fields Too Large",
};

function checkRequest(request: UpgradeRequest): HeadResult | undefined {
  const load = request.method === "GET" ? LOAD_URL.exec(request.url) : null;
  if (load !== null) return { state: "load", reserve: request.url === LOAD_PATH ? undefined : (load[1] ?? "") };
  if (request.url !== SYNC_PATH) return bad(404, `There is nothing here but ${SYNC_PATH}`);
  if (request.method !== "GET") return bad(405, `Use GET, not ${request.method}`);
  if (request.headers["upgrade"]?.toLowerCase() !== "websocket") return bad(426, "This is a websocket endpoint");
  const protocols = (request.headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
  if (!protocols.includes(SYNC_SUBPROTOCOL)) return bad(400, `The subprotocol ${SYNC_SUBPROTOCOL} is required`);
  return undefined;
}

/** False as soon as the first bytes cannot be the start of a request line. */
function couldBeHttp(received: Buffer): boolean {
  for (let i = 0; i < Math.min(received.length, 8); i++) {
    const byte = received[i] ?? 0;
    if (byte === 0x20) return i > 0;
    if (byte < 0x41 || byte > 0x5a) return false;
  }
  return true;
}

function bad(httpStatus: number, reason: string): HeadResult {
  return { state: "bad", httpStatus, reason };
}
