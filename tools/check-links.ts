/** Every relative link of a Markdown page leads to a file of the repository, and its anchor to a heading there. */
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync, statSync } from "node:fs"
import { dirname, join, normalize } from "node:path"

/** Error pages are generated from one table, and link to nothing relative. */
const pages = (): string[] =>
  execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "*.md"], {
    encoding: "utf8",
  })
    .split("\n")
    .filter(name => name !== "" && existsSync(name))

const withoutCode = (text: string): string =>
  text.replaceAll(/^```.*?^```$/gms, "").replaceAll(/`[^`\n]*`/g, "")

/** As GitHub makes them of headings. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-")

const anchorsOf = (page: string): Set<string> =>
  new Set(
    [...readFileSync(page, "utf8").matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
      anchorOf(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")),
    ),
  )

const problemOf = (page: string, link: string): string | undefined => {
  const [path = "", anchor] = link.split("#")
  const target = path === "" ? page : normalize(join(dirname(page), decodeURIComponent(path)))
  if (!existsSync(target)) return `${page}: ${link} leads nowhere`
  if (anchor !== undefined && statSync(target).isFile() && !anchorsOf(target).has(anchor))
    return `${page}: ${link} names no heading of ${target}`
  return undefined
}

export const checkLinks = (): string[] =>
  pages().flatMap(page =>
    [...withoutCode(readFileSync(page, "utf8")).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, link = ""]) => link)
      .filter(link => !/^[a-z]+:/.test(link))
      .map(link => problemOf(page, link))
      .filter(problem => problem !== undefined),
  )
