/** A bad line to the service: it refuses, cuts, delays, holds back, doubles and serves old answers. */

import http from "node:http";
import type { AddressInfo } from "node:net";
import { sleep, url } from "./here.ts";

const FAULTS = ["refused", "lost", "cut", "late", "doubled", "old", "failed", "held back", "none"] as const;
export type Reply = http.ServerResponse;
export type Fault = (typeof FAULTS)[number];

const LATE_MS = 30;
/** A stream is cut, or held back, after at most so many bytes. */
const CUT_BYTES = 3_000;

export class Between {
  /** No fault happens any more, until it is false again. */
  isGood = false;
  readonly done = new Map<Fault, number>();
  /** Requests as they came: the path, and the type that was asked for. */
  readonly asked: string[] = [];
  readonly #random: () => number;
  #faults: Fault[] = [];
  readonly #old = new Map<string, { status: number; type: string; body: Buffer }[]>();
  readonly #sockets = new Set<http.ServerResponse>();
  readonly #server = http.createServer((request, reply) => void this.#answer(request, reply));

  constructor(random: () => number) {
    this.#random = random;
  }

  /** Whether all faults have happened. */
  get isThrough(): boolean {
    return this.done.size === FAULTS.length;
  }

  /** Each fault in turn, in an order that is drawn each time. */
  #draw(): Fault {
    if (this.#faults.length === 0) this.#faults = [...FAULTS];
    return this.#faults.splice(Math.floor(this.#random() * this.#faults.length), 1)[0]!;
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Cut what is under way. */
  cut(): void {
    for (const reply of this.#sockets) reply.destroy();
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request: http.IncomingMessage, reply: http.ServerResponse): Promise<void> {
    const fault = this.isGood ? "none" : this.#draw();
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const accept = request.headers.accept ?? "";
    this.done.set(fault, (this.done.get(fault) ?? 0) + 1);
    this.asked.push(`${request.method} ${request.url!.split("?")[0]} ${accept}`);
    if (fault === "refused") return void reply.destroy();
    if (fault === "failed") return void reply.writeHead(503).end("no");
    const key = `${request.url} ${accept} ${body.toString().replace(/"cursor":"[^"]*"/g, "")}`;
    const old = this.#old.get(key) ?? [];
    if (fault === "old" && old.length > 0) {
      const { status, type, body } = old[Math.floor(this.#random() * old.length)]!;
      return void reply.writeHead(status, { "Content-Type": type }).end(body);
    }
    if (fault === "late") await sleep(LATE_MS);
    const headers = { "Content-Type": "application/json", accept };
    const ended = new AbortController();
    reply.on("close", () => ended.abort());
    this.#sockets.add(reply);
    try {
      const given = () => fetch(url + request.url, {
        method: request.method!, headers, signal: ended.signal, body: chunks.length ? body : null,
      });
      if (fault === "doubled" && !accept.includes("stream")) await (await given()).arrayBuffer();
      const answer = await given();
      const type = answer.headers.get("Content-Type") ?? "";
      const limit = fault === "cut" || fault === "held back" ? this.#random() * CUT_BYTES : Infinity;
      if (type.startsWith("text/event-stream")) await this.#stream(answer, reply, fault, limit);
      else {
        const body = Buffer.from(await answer.arrayBuffer());
        if (answer.ok) this.#old.set(key, [...old, { status: answer.status, type, body }]);
        if (fault === "lost") return void reply.destroy();
        const isWhole = fault !== "cut";
        reply.writeHead(answer.status, { "Content-Type": type, "Content-Length": body.length });
        reply.write(isWhole ? body : body.subarray(0, body.length / 2), () => isWhole || reply.destroy());
        if (isWhole) reply.end();
      }
    } catch {
      reply.destroy(); // the client has gone
    } finally {
      this.#sockets.delete(reply);
    }
  }

  async #stream(answer: Response, reply: http.ServerResponse, fault: Fault, limit: number): Promise<void> {
    reply.writeHead(answer.status, { "Content-Type": "text/event-stream" });
    reply.flushHeaders();
    let bytes = 0;
    for await (const chunk of answer.body!) {
      bytes += chunk.length;
      if (bytes > limit && fault === "held back") continue;
      reply.write(bytes > limit ? chunk.subarray(0, chunk.length / 2) : chunk);
      if (fault === "doubled" && chunk.subarray(-2).toString() === "\n\n") reply.write(chunk);
      if (bytes > limit) return void setTimeout(() => reply.destroy(), LATE_MS);
    }
    reply.end();
  }
}

/** A service that a test writes itself: `answer` is given what was asked by each request. */
export async function serving(answer: (queries: Record<string, object>, isStream: boolean, reply: Reply) => void) {
  const server = http.createServer(async (request, reply) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const isStream = request.headers.accept!.includes("event-stream");
    reply.setHeader("Content-Type", isStream ? "text/event-stream" : "application/json");
    answer(JSON.parse(Buffer.concat(chunks).toString()).queries, isStream, reply);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}
