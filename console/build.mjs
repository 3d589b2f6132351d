/** Builds the console into the folder that the service serves, each file beside its compressed form. */

import { copyFile, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

import { build } from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const built = here("../app/console/built");
const making = `${built}.${process.pid}`;

const { metafile } = await build({
  entryPoints: { main: here("src/main.tsx") },
  outdir: making,
  bundle: true,
  splitting: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  chunkNames: "[name]-[hash]",
  legalComments: "none", // licences.txt has them in full
  metafile: true,
  logLevel: "warning",
});
await writeFile(`${making}/licences.txt`, await licences(Object.keys(metafile.inputs)));
for (const name of ["page.html", "icon.svg"]) await copyFile(here(`src/${name}`), `${making}/${name}`);
for (const name of await readdir(making)) {
  const small = await promisify(gzip)(await readFile(`${making}/${name}`), { level: 9 });
  await writeFile(`${making}/${name}.gz`, small);
}
await rm(built, { recursive: true, force: true });
await rename(making, built);

/** The licences of all packages that files of these names belong to. */
async function licences(files) {
  const found = files.map((file) => /(?:.*)node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)).filter(Boolean);
  const packages = [...new Set(found.map(([folder]) => folder))].sort();
  const texts = packages.map(async (folder) => {
    const { name, version } = JSON.parse(await readFile(`${folder}/package.json`, "utf-8"));
    const [licence] = (await readdir(folder)).filter((file) => /^licen[cs]e/i.test(file));
    return `${name} ${version}\n\n${await readFile(`${folder}/${licence}`, "utf-8")}`;
  });
  return (await Promise.all(texts)).join("\n\n----\n\n");
}
