import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { must } from "@bulrush/base";

const PROGRAMS = ["chromium", "chromium-browser", "google-chrome"] as const;
const LOOK_MS = 50;
const WAIT_MS = 120_000;

function findBrowser(): string | undefined {
  const places = (process.env["PATH"] ?? "").split(":").filter((place) => place !== "");
  return PROGRAMS.flatMap((name) => places.map((place) => join(place, name))).find((path) => existsSync(path));
}

/** False with CI=true: there it must be found, or the test fails. */
export function skipWithoutBrowser(): string | false {
  if (process.env["CI"] === "true" || findBrowser() !== undefined) return false;
  return "[binary] no Chromium; apt-get install chromium";
}

interface Answer {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/**
 * A headless Chromium with one page, driven by the DevTools protocol. A call that the browser does not answer rejects
 * when it ends.
 */
export class Browser {
  readonly #process: ChildProcess;
  readonly #profile: string;
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #session = "";
  #nextId = 1;

  static async start(): Promise<Browser> {
    const profile = mkdtempSync(join(tmpdir(), "bulrush-browser-"));
    const child = spawn(
      must(findBrowser(), "Chromium"),
      [
        "--headless",
        // A sandbox cannot be had by root; the pages are ours.
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--hide-scrollbars",
        "--remote-debugging-port=0",
        `--user-data-dir=${profile}`,
        "about:blank",
      ],
      { stdio: ["ignore", "ignore", "pipe"] },
    );
    const url = await new Promise<string>((resolve, reject) => {
      let text = "";
      child.stderr.setEncoding("utf8").on("data", (part: string) => {
        text += part;
        const found = /DevTools listening on (ws:\S+)/.exec(text)?.[1];
        if (found !== undefined) resolve(found);
      });
      child.once("error", reject);
      child.once("exit", (code) => reject(new Error(`Chromium ended with ${String(code)}: ${text}`)));
    });
    const socket = new WebSocket(url);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve);
      socket.addEventListener("error", reject);
    });
    const browser = new Browser(child, profile, socket);
    const { targetId } = await browser.#call<{ targetId: string }>("Target.createTarget", { url: "about:blank" });
    const params = { targetId, flatten: true };
    browser.#session = (await browser.#call<{ sessionId: string }>("Target.attachToTarget", params)).sessionId;
    return browser;
  }

  private constructor(child: ChildProcess, profile: string, socket: WebSocket) {
    this.#process = child;
    this.#profile = profile;
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#onAnswer(JSON.parse(String(data)) as Answer));
    socket.addEventListener("close", () => {
      for (const { reject } of this.#waiting.values()) reject(new Error("The browser has ended"));
      this.#waiting.clear();
    });
  }

  async open(url: string): Promise<void> {
    await this.#call("Page.navigate", { url });
  }

  /** CSS pixels. */
  async resize(width: number, height: number): Promise<void> {
    await this.#call("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
  }

  async useColours(scheme: "light" | "dark"): Promise<void> {
    const features = [{ name: "prefers-color-scheme", value: scheme }];
    await this.#call("Emulation.setEmulatedMedia", { features });
  }

  /** The value of an expression in the page, as JSON has it. Throws what it throws. */
  async evaluate<T>(expression: string): Promise<T> {
    const { result, exceptionDetails } = await this.#call<{
      result: { value: T };
      exceptionDetails?: { text: string; exception?: { description?: string } };
    }>("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails !== undefined)
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Waits until an expression is true; the page's text is in the error when it never is. */
  async until(expression: string): Promise<void> {
    const endMs = Date.now() + WAIT_MS;
    // While a page is being replaced there is nothing to ask.
    while (!(await this.evaluate<boolean>(`!!(${expression})`).catch(() => false))) {
      if (Date.now() > endMs)
        throw new Error(`Never true: ${expression}\n${await this.evaluate<string>("document.body.innerText")}`);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  /** Presses a key as a person does: "Tab", "Enter", "3". */
  async press(key: string): Promise<void> {
    const text = key === "Enter" ? "\r" : key.length === 1 ? key : undefined;
    const code = key === "Enter" ? 13 : key === "Tab" ? 9 : key.charCodeAt(0);
    const event = { key, windowsVirtualKeyCode: code, ...(text !== undefined && { text }) };
    await this.#call("Input.dispatchKeyEvent", { type: text === undefined ? "rawKeyDown" : "keyDown", ...event });
    await this.#call("Input.dispatchKeyEvent", { type: "keyUp", key, windowsVirtualKeyCode: code });
  }

  async type(text: string): Promise<void> {
    await this.#call("Input.insertText", { text });
  }

  /** PNG of what is seen. */
  async screenshot(): Promise<Buffer> {
    const { data } = await this.#call<{ data: string }>("Page.captureScreenshot", { format: "png" });
    return Buffer.from(data, "base64");
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#socket.close();
    if (this.#process.exitCode === null) this.#process.kill("SIGKILL");
    await ended;
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }

  #call<T>(method: string, params: object): Promise<T> {
    const id = this.#nextId++;
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.set(id, waiting);
    const session = this.#session === "" ? {} : { sessionId: this.#session };
    this.#socket.send(JSON.stringify({ id, method, params, ...session }));
    return waiting.promise as Promise<T>;
  }

  #onAnswer({ id, result, error }: Answer): void {
    const waiting = this.#waiting.get(id ?? -1);
    if (id === undefined || waiting === undefined) return;
    this.#waiting.delete(id);
    if (error === undefined) waiting.resolve(result);
    else waiting.reject(new Error(error.message));
  }
}
