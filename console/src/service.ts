/** Requests to the service that serves this page, with the key that was given to this tab. */

import { signal } from "@preact/signals";

import { Problem, Service, read } from "../../clients/js/src/service.ts";
import type { Refusal } from "./contract.ts";

const KEY = "psoup-key";

/** The service's own: the page asks nobody else. */
export const ORIGIN = location.origin;

/** The bearer key; kept for as long as this tab, and sent to nobody but the service. */
export const key = signal(sessionStorage.getItem(KEY) ?? "");
/** Whether the service has refused a request for want of a key. */
export const needsKey = signal(false);
/** Whether the last request was answered. */
export const isOnline = signal(true);

const service = new Service(ORIGIN, { token: () => key.value });

export function useKey(given: string): void {
  if (given) sessionStorage.setItem(KEY, given);
  else sessionStorage.removeItem(KEY);
  key.value = given;
  needsKey.value = false;
}

interface Request {
  method?: string;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** Whether it outlives the page. */
  keepalive?: boolean;
}

/** Ask for JSON. Throws Problem where the service refuses, TypeError where nobody answers. */
export async function ask<T>(path: string, { method = "GET", body, headers = {}, signal, keepalive = false }: Request = {}): Promise<T> {
  const init: RequestInit = { method, headers, signal: signal ?? null, keepalive };
  if (body !== undefined) {
    init.headers = { "Content-Type": "application/json", ...headers };
    init.body = typeof body === "string" ? body : JSON.stringify(body);
  }
  try {
    const reply = await service.send(path, init);
    isOnline.value = true;
    const text = await reply.text();
    return text ? read<T>(text) : (undefined as T);
  } catch (error) {
    if (error instanceof Problem) isOnline.value = true;
    else if (!signal?.aborted) isOnline.value = false;
    if (error instanceof Problem && error.status === 401) needsKey.value = true;
    throw error;
  }
}

/** What a failure says to people. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof Problem) return error.body as Refusal;
  return { code: "", detail: "The service does not answer. What is shown is what it said last." };
}

/** Whether the service, perhaps with other settings or of another version, does not have this endpoint. */
export function isMissing(error: unknown): boolean {
  if (!(error instanceof Problem)) return false;
  return error.status === 405 || (error.status === 404 && /nothing at this path/.test(error.message));
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

export const at = encodeURIComponent;
