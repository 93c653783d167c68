import { messageOf } from "@bulrush/base";
import {
  errnoName,
  type KernelAnswer,
  MessageWriter,
  type NamespaceRef,
  NETLINK_ERROR_CODES,
  NETLINK_NETFILTER,
  NetlinkError,
  NetlinkSocket,
  NFGEN_BYTES,
  writeNfgen,
} from "@bulrush/netlink";
import type { NftConnection } from "../connection.ts";
import { NFT_ERROR_CODES, NftError, type NftFailure } from "../errors.ts";
import { describeOperation } from "../operation.ts";
import type { CountedRule, FlowtableReadback, TableReadback } from "../readback.ts";
import type { TableFamily } from "../state.ts";
import type { Transaction } from "../transaction.ts";
import { NFT_MSG, NFTA_GEN_ID } from "../wire/message-type.ts";
import { encodeTransaction } from "./encode-transaction.ts";
import { listCountedRules, listFlowtables, readTableOnce } from "./read-table.ts";

/** Both have defaults that fit a host. */
export interface NftConnectionOptions {
  /** Where. Default: the calling thread's namespace. */
  readonly namespace?: NamespaceRef;
  /** Wanted size of the send buffer, which bounds a transaction. Default 64 MiB: 300,000 messages, or 4M elements. */
  readonly sendBufferBytes?: number;
}

const SEND_BUFFER_BYTES = 64 * 1024 * 1024;
const READ_TRIES = 10;
/** The batch's buffer is let go after a transaction that needed more than this. */
const KEEP_BUFFER_BYTES = 1024 * 1024;

/** Opens nf_tables of a network namespace. The caller closes it. Throws a NetlinkError when there is no socket. */
export function openNftConnection(options: NftConnectionOptions = {}): NftConnection {
  const socket = NetlinkSocket.open(NETLINK_NETFILTER, {
    ...(options.namespace === undefined ? {} : { namespace: options.namespace }),
    sendBufferBytes: options.sendBufferBytes ?? SEND_BUFFER_BYTES,
  });
  let batch = new MessageWriter(64 * 1024);

  function generation(): number {
    let id: number | undefined;
    socket.request(
      "Get generation",
      NFT_MSG.GETGEN,
      0,
      (writer) => writeNfgen(writer, 0),
      (message) => {
        const attributes = message.attributes(NFGEN_BYTES);
        while (attributes.next()) if (attributes.type === NFTA_GEN_ID) id = attributes.u32be();
      },
    );
    if (id === undefined)
      throw new NetlinkError("Get generation failed: no generation in the answer", {
        code: NETLINK_ERROR_CODES.malformed,
        op: "Get generation",
      });
    return id;
  }

  function run(transaction: Transaction, runOptions: { readonly expectedGeneration?: number } = {}): void {
    if (transaction.isEmpty) return;
    const nextSeq = (): number => socket.nextSeq();
    const encoded = encodeTransaction(transaction, batch, nextSeq, runOptions.expectedGeneration);
    if (encoded.lastSeq === encoded.beginSeq) return;
    const bytes = batch.length;
    try {
      const isMine = (seq: number): boolean => encoded.operationOf(seq) !== undefined;
      const { refusals, lost } = socket.exchange("Run transaction", batch.bytes, encoded.lastSeq, isMine);
      // Answers are refusals but for one acknowledgement: even when some are lost, one refusal means that all failed.
      if (refusals.length > 0) throw refused(transaction, refusals, encoded.operationOf);
      if (lost) throw outcomeUnknown(bytes, undefined);
    } catch (error) {
      throw error instanceof NetlinkError ? translate(error, bytes) : error;
    } finally {
      if (bytes > KEEP_BUFFER_BYTES) batch = new MessageWriter(64 * 1024);
    }
  }

  function readTable(family: TableFamily, name: string): TableReadback | undefined {
    const op = `Read table ${family} ${name}`;
    try {
      // Listings may be torn by changes without any sign of it: only an equal generation before and after proves one.
      for (let tries = 0; tries < READ_TRIES; tries++) {
        const before = generation();
        const table = tryRead({ family, name }, before);
        if (table !== "changed" && generation() === before) return table;
      }
    } catch (error) {
      if (!(error instanceof NetlinkError)) throw error;
      throw new NftError(`${op} failed: ${error.message}`, { code: NFT_ERROR_CODES.readFailed, op, cause: error });
    }
    throw new NftError(`${op} failed: the ruleset kept changing`, { code: NFT_ERROR_CODES.unstable, op });
  }

  function rules(family: TableFamily, name: string): CountedRule[] {
    try {
      return listCountedRules(socket, { family, name });
    } catch (error) {
      if (!(error instanceof NetlinkError)) throw error;
      const op = `Read rules of ${family} ${name}`;
      throw new NftError(`${op} failed: ${error.message}`, { code: NFT_ERROR_CODES.readFailed, op, cause: error });
    }
  }

  function flowtables(family: TableFamily, name: string): FlowtableReadback[] {
    try {
      return listFlowtables(socket, { family, name });
    } catch (error) {
      if (!(error instanceof NetlinkError)) throw error;
      const op = `Read flow tables of ${family} ${name}`;
      throw new NftError(`${op} failed: ${error.message}`, { code: NFT_ERROR_CODES.readFailed, op, cause: error });
    }
  }

  function tryRead(
    table: { family: TableFamily; name: string },
    before: number,
  ): TableReadback | undefined | "changed" {
    try {
      return readTableOnce(socket, table, before);
    } catch (error) {
      // A set or the table went while it was read, or a dump was interrupted to the end: the same as a change.
      const interrupted = error instanceof NetlinkError && error.code === NETLINK_ERROR_CODES.dumpInterrupted;
      if (interrupted || (error instanceof NetlinkError && error.errnoName === "ENOENT" && generation() !== before))
        return "changed";
      throw error;
    }
  }

  return { generation, run, readTable, rules, flowtables, close: () => socket.close() };
}

function refused(
  transaction: Transaction,
  refusals: readonly KernelAnswer[],
  operationOf: (seq: number) => number | undefined,
): NftError {
  const op = "Run transaction";
  const failures = refusals.map((answer): NftFailure => {
    const index = operationOf(answer.seq) ?? -1;
    const operation = transaction.operations[index];
    return {
      index,
      operation: operation === undefined ? "the whole batch" : describeOperation(operation),
      errno: answer.errno,
      errnoName: errnoName(answer.errno),
      ...(answer.extAck === undefined ? {} : { extAck: answer.extAck }),
      ...(answer.offset === undefined ? {} : { offset: answer.offset }),
    };
  });
  const [first] = failures;
  if (failures.some((failure) => failure.index < 0 && failure.errnoName === "ERESTART"))
    return new NftError("Transaction refused: the ruleset changed since it was planned", {
      code: NFT_ERROR_CODES.staleGeneration,
      op,
      failures,
    });
  const more = failures.length > 1 ? ` (and ${failures.length - 1} more)` : "";
  const why = first === undefined ? "" : `: ${first.operation}: ${first.errnoName}${more}`;
  return new NftError(`Transaction refused${why}`, { code: NFT_ERROR_CODES.refused, op, failures });
}

function outcomeUnknown(bytes: number, cause: unknown): NftError {
  const why = cause === undefined ? "answers were lost" : messageOf(cause);
  return new NftError(`Outcome of transaction unknown: ${why}`, {
    code: NFT_ERROR_CODES.outcomeUnknown,
    op: "Run transaction",
    cause,
    data: { bytes },
  });
}

function translate(error: NetlinkError, bytes: number): NftError | NetlinkError {
  switch (error.code) {
    case NETLINK_ERROR_CODES.tooLarge:
      return new NftError(`Transaction of ${bytes} bytes is over the limit of ${String(error.data["limit"])}`, {
        code: NFT_ERROR_CODES.tooLarge,
        op: "Run transaction",
        cause: error,
        data: { bytes, limit: error.data["limit"] },
      });
    case NETLINK_ERROR_CODES.noAnswer:
    case NETLINK_ERROR_CODES.malformed:
      return outcomeUnknown(bytes, error);
    default:
      return error;
  }
}
