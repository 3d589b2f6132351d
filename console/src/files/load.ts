/** Loading a file: the stream is declared, and its rows are sent so that none is stored twice, however often it is tried. */

import { Problem } from "../../../clients/js/src/service.ts";
import type { Column } from "../contract.ts";
import { ask } from "../service.ts";
import type { Records } from "./csv.ts";
import { typed } from "./infer.ts";

const BATCH_ROWS = 5_000;
const TRIES = 6;
const COLUMNS_JSON = "application/vnd.psoup.columns+json";

export interface Load {
  stream: string;
  columns: Column[];
  time: string | null;
  records: Records;
  /** Says which file it is: the same content has the same one. */
  digest: string;
}

/** A text that stands for the content of a file; where a page has no digests (HTTP from afar), one that stands for this load. */
export async function digestOf(text: string): Promise<string> {
  if (!globalThis.crypto?.subtle) return Math.random().toString(16).slice(2);
  const data = new TextEncoder().encode(text);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", data));
  return [...digest.slice(0, 12)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Declare the stream and send all rows; `told` hears how many have been stored. Throws Problem. */
export async function load({ stream, columns, time, records, digest }: Load, told: (rows: number) => void): Promise<void> {
  const declared = columns.map(({ name, type }) => ({ name, type, ...(name === time ? { nullable: false } : {}) }));
  await ask(`/v1/streams/${stream}`, { method: "PUT", body: { columns: declared, time } });
  const types = await digestOf(JSON.stringify([declared, time, BATCH_ROWS]));
  for (let begin = 0, version = 0; begin < records.rows.length; begin += BATCH_ROWS, version++) {
    const batch = { names: records.names, rows: records.rows.slice(begin, begin + BATCH_ROWS) };
    const headers = {
      "Content-Type": COLUMNS_JSON,
      "Psoup-Txn-App": `console ${digest} ${types.slice(0, 8)}`,
      "Psoup-Txn-Version": String(version),
    };
    await patiently(() => ask(`/v1/streams/${stream}/rows`, { method: "POST", headers, body: typed(batch, columns) }));
    told(Math.min(begin + BATCH_ROWS, records.rows.length));
  }
}

/** Try again what may pass: the producer's headers make a second try harmless. */
async function patiently(send: () => Promise<unknown>): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await send();
      return;
    } catch (error) {
      const mayPass = !(error instanceof Problem) || error.retryable || error.code === "commit-unknown";
      if (!mayPass || tries === TRIES) throw error;
      const pauseMs = error instanceof Problem ? error.pauseMs : 0;
      await new Promise((resolve) => setTimeout(resolve, Math.max(pauseMs, 250 * 2 ** tries)));
    }
  }
}
