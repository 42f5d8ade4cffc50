/** Writes docs/errors/<code>.md, the page every error's docs_url leads to, from the table of faults. */
import { mkdir, readdir, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { faultMarkdown, wireCodes } from "../packages/contract/src/fault-pages.ts"

/** File name → content of every page, one for each code on the wire. */
export const renderErrorPages = (): Map<string, string> =>
  new Map(wireCodes.map(wire => [`${wire}.md`, faultMarkdown(wire, "{base_url}")]))

/** Makes the folder hold exactly the rendered pages. */
export const writeErrorPages = async (folder: string): Promise<void> => {
  const pages = renderErrorPages()
  await mkdir(folder, { recursive: true })
  const stale = (await readdir(folder)).filter(name => name.endsWith(".md") && !pages.has(name))
  await Promise.all(stale.map(name => rm(join(folder, name))))
  await Promise.all([...pages].map(([name, content]) => writeFile(join(folder, name), content)))
}

if (import.meta.main) await writeErrorPages(join(import.meta.dirname, "../docs/errors"))
