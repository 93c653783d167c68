import { assert, messageOf } from "@bulrush/base";
import type { Answer } from "./messages.ts";

/**
 * What one thread has asked another, and was not answered yet.
 *
 * Invariant: `#open` has exactly the questions without an answer; all of them are settled by `close`.
 */
export class Questions<Question> {
  readonly #post: (id: number, question: Question) => void;
  readonly #open = new Map<number, PromiseWithResolvers<unknown>>();
  #nextId = 1;
  #closedFor: Error | undefined = undefined;

  constructor(post: (id: number, question: Question) => void) {
    this.#post = post;
  }

  /** Rejects with the other side's reason, or that of the end of the other side. */
  ask(question: Question): Promise<unknown> {
    if (this.#closedFor !== undefined) return Promise.reject(this.#closedFor);
    const id = this.#nextId++;
    const open = Promise.withResolvers<unknown>();
    this.#open.set(id, open);
    this.#post(id, question);
    return open.promise;
  }

  onAnswer(answer: Answer): void {
    const open = this.#open.get(answer.id);
    assert(open !== undefined, () => `Nobody asked question ${answer.id}`);
    this.#open.delete(answer.id);
    if (answer.type === "answer") open.resolve(answer.value);
    else open.reject(new Error(answer.reason));
  }

  /** No answer will come any more. */
  close(reason: Error): void {
    this.#closedFor = reason;
    for (const open of this.#open.values()) open.reject(reason);
    this.#open.clear();
  }
}

/** Answers a question with what `answer` gives. Never rejects. */
export async function answerQuestion(id: number, answer: () => unknown, post: (answer: Answer) => void): Promise<void> {
  let message: Answer;
  try {
    message = { type: "answer", id, value: await answer() };
  } catch (error) {
    message = { type: "failed", id, reason: messageOf(error) };
  }
  post(message);
}
