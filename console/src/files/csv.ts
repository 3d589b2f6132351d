/** Rows of CSV and NDJSON, as texts and values that still have to be given types. */

/** Names of columns in their order, and a record for each row. Of CSV the values are texts; null: an empty cell. */
export interface Records {
  names: string[];
  rows: unknown[][];
}

/** Read CSV (RFC 4180) with a header. Throws RangeError where a row has other than the header's number of cells. */
export function readCsv(text: string): Records {
  const separator = separatorOf(text);
  const [header, ...lines] = cells(text.replace(/^\uFEFF/, ""), separator);
  if (!header) throw new RangeError("The file is empty.");
  const names = header.map((name, index) => (name ?? "").trim() || `column_${index + 1}`);
  const wrong = lines.findIndex((line) => line.length !== names.length);
  if (wrong >= 0) {
    throw new RangeError(`Row ${wrong + 1} has ${lines[wrong]!.length} cells, and the header ${names.length}.`);
  }
  return { names, rows: lines };
}

/** The separator that stands most often in the first line. */
function separatorOf(text: string): string {
  const first = text.slice(0, (text.indexOf("\n") + 1 || text.length + 1) - 1);
  const counts = [",", ";", "\t"].map((one) => [one, first.split(one).length] as const);
  return counts.reduce((most, one) => (one[1] > most[1] ? one : most))[0];
}

function cells(text: string, separator: string): (string | null)[][] {
  const lines: (string | null)[][] = [];
  let line: (string | null)[] = [];
  let at = 0;
  const endLine = () => {
    if (line.length > 1 || line[0] !== null) lines.push(line);
    line = [];
  };
  while (at < text.length) {
    let value: string | null;
    [value, at] = text[at] === '"' ? quotedCell(text, at + 1) : bareCell(text, at, separator);
    line.push(value);
    if (text[at] === separator) {
      at += 1;
      if (at === text.length) line.push(null);
      continue;
    }
    if (text[at] === "\r") at += 1;
    if (text[at] === "\n") at += 1;
    endLine();
  }
  if (line.length > 0) endLine();
  return lines;
}

function quotedCell(text: string, begin: number): [string, number] {
  let value = "";
  for (let from = begin; ; ) {
    const end = text.indexOf('"', from);
    if (end < 0) throw new RangeError("A quoted cell does not end.");
    value += text.slice(from, end);
    if (text[end + 1] !== '"') return [value, end + 1];
    value += '"';
    from = end + 2;
  }
}

function bareCell(text: string, begin: number, separator: string): [string | null, number] {
  let end = begin;
  while (end < text.length && text[end] !== separator && text[end] !== "\n" && text[end] !== "\r") end += 1;
  return [end === begin ? null : text.slice(begin, end), end];
}

/** Read NDJSON, or one JSON array of objects. Values that are no constants become texts of JSON. */
export function readJson(text: string): Records {
  const objects = objectsOf(text.trim());
  const names = [...new Set(objects.flatMap((one) => Object.keys(one)))];
  const value = (one: unknown) => (typeof one === "object" && one !== null ? JSON.stringify(one) : (one ?? null));
  return { names, rows: objects.map((one) => names.map((name) => value(one[name]))) };
}

function objectsOf(text: string): Record<string, unknown>[] {
  if (text.startsWith("[")) return JSON.parse(text);
  return text
    .split("\n")
    .filter((line) => line.trim())
    .map((line, index) => {
      try {
        return JSON.parse(line);
      } catch {
        throw new RangeError(`Line ${index + 1} is no JSON.`);
      }
    });
}
