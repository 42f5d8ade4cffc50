/** docs/errors/<code>.md, the page every error's docs_url leads to, from the table of faults. */
import { faultMarkdown, wireCodes } from "../packages/contract/src/fault-pages.ts"

/** File name → content of every page, one for each code on the wire. */
export const renderErrorPages = (): Map<string, string> =>
  new Map(wireCodes.map(wire => [`${wire}.md`, faultMarkdown(wire, "{base_url}")]))
