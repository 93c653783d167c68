import { type MessageWriter, NLM_F, writeNfgen } from "@bulrush/netlink";
import type { Transaction } from "../transaction.ts";
import { BATCH_BEGIN, BATCH_END, BATCH_GENID, NFT_SUBSYSTEM } from "../wire/message-type.ts";
import { OperationWriter } from "./operation-writer.ts";

/** Where the answers to a batch belong. */
export interface EncodedTransaction {
  readonly beginSeq: number;
  /** Of the last operation's last message: the one that is acknowledged. */
  readonly lastSeq: number;
  /** Index of the operation that a message belongs to; -1 for the batch itself; `undefined` for other messages. */
  readonly operationOf: (seq: number) => number | undefined;
}

/**
 * Writes a transaction that is not empty as one batch:
 *
 *     BATCH_BEGIN [genid]   operation 0 ... operation n (NLM_F_ACK)   BATCH_END
 *
 * Only the last operation asks for an acknowledgement: the kernel answers after the commit, refusals come unasked, and
 * an answer for each would overrun the receive buffer.
 */
export function encodeTransaction(
  transaction: Transaction,
  writer: MessageWriter,
  nextSeq: () => number,
  expectedGeneration: number | undefined,
): EncodedTransaction {
  writer.reset();
  writer.reserve(guessBytes(transaction));
  const beginSeq = nextSeq();
  writer.message(BATCH_BEGIN, NLM_F.REQUEST, beginSeq);
  writeNfgen(writer, 0, NFT_SUBSYSTEM);
  if (expectedGeneration !== undefined) writer.attrU32be(BATCH_GENID, expectedGeneration);
  writer.endMessage();

  // Of each message behind the first, in order: sequence numbers follow one another.
  const operations: number[] = [];
  let index = 0;
  let lastStart = 0;
  let lastSeq = beginSeq;
  const operationWriter = new OperationWriter(writer, (type, flags) => {
    lastStart = writer.length;
    lastSeq = nextSeq();
    operations.push(index);
    writer.message(type, NLM_F.REQUEST | flags, lastSeq);
  });
  for (const operation of transaction.operations) {
    operationWriter.write(operation);
    index++;
  }
  if (lastSeq !== beginSeq) writer.addFlags(lastStart, NLM_F.ACK);

  writer.message(BATCH_END, NLM_F.REQUEST, nextSeq());
  writeNfgen(writer, 0, NFT_SUBSYSTEM);
  writer.endMessage();
  const operationOf = (seq: number): number | undefined => {
    // They wrap after the largest, and leave out 0.
    const offset = seq >= beginSeq ? seq - beginSeq : seq - 1 + (0xffffffff - beginSeq) + 1;
    return offset === 0 ? -1 : operations[offset - 1];
  };
  return { beginSeq, lastSeq, operationOf };
}

/** About what it will need; none of it has to hold. */
function guessBytes({ operations }: Transaction): number {
  let bytes = 256;
  for (const operation of operations) {
    if (operation.kind === "add-elements" || operation.kind === "delete-elements")
      bytes += 64 + operation.elements.length * (operation.set.interval ? 56 : 16);
    else if (operation.kind === "add-rule") bytes += 160 + operation.rule.statements.length * 112;
    else bytes += 96;
  }
  return bytes;
}
