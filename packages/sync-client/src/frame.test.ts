import assert from "node:assert/strict";
import { test } from "node:test";
import { websocketHeader } from "@bulrush/proto";
import * as ws from "ws";

interface FrameOptions {
  readonly fin: boolean;
  readonly mask: boolean;
  readonly opcode: number;
  readonly readOnly: boolean;
  readonly rsv1: boolean;
}

/** Not among the library's types. */
const { Sender } = ws as unknown as { Sender: { frame(data: Buffer, options: FrameOptions): Buffer[] } };

for (const length of [0, 1, 125, 126, 127, 65_535, 65_536, 100_000, 16_777_216])
  test(`websocketHeader() of ${length} bytes is what ws sends`, () => {
    const data = Buffer.alloc(length);
    const [header] = Sender.frame(data, { fin: true, mask: false, opcode: 2, readOnly: true, rsv1: false });
    assert.equal(websocketHeader(length).toString("hex"), header?.toString("hex"));
  });
