/** The pages that `docs_url` leads to, from the table of faults. */
import {
  type FaultArticle,
  faultArticles,
  faultCodes,
  faults,
  faultText,
  statusPhrases,
  wireCode,
} from "@svc/contract"
import { escapeHtml, inlineHtml, renderPage } from "./layout.ts"

const chip = ({ status, phrase }: FaultArticle): string => {
  const kind = status < 400 ? " waits" : status >= 500 ? " ours" : ""
  return `<span class="status${kind}">${status} ${phrase}</span>`
}

const renderArticle = (article: FaultArticle): string =>
  `${chip(article)}<blockquote>${escapeHtml(article.text)}</blockquote>
<h2>What it means and what to do</h2><p>${inlineHtml(article.help)}</p><p class="soft">${inlineHtml(article.advice)}</p>
<h2>Example</h2><pre><code>${escapeHtml(JSON.stringify(article.example, null, 2))}</code></pre>`

/** The page of a code on the wire; undefined for a code that does not exist. */
export const renderErrorPage = (code: string, baseUrl: string, root: string): string | undefined => {
  const articles = faultArticles(code, baseUrl)
  if (articles.length === 0) return undefined
  return renderPage({
    title: `${code} · Svc`,
    root,
    section: "errors",
    main: `<h1 class="code">${escapeHtml(code)}</h1>${articles.map(renderArticle).join("<hr>")}`,
  })
}

export const renderUnknownError = (root: string): string =>
  renderPage({
    title: "Unknown error code · Svc",
    root,
    section: "errors",
    main: `<h1>No error has this code</h1><p>Compare it with the field <code>code</code> of the reply, or look through <a href="${root}/docs/errors">all codes</a>.</p>`,
  })

/** Codes on the wire by status, each with its text before anything is known about the case. */
const byStatus = [
  ...Map.groupBy(
    faultCodes.filter(code => wireCode(code) === code),
    code => faults[code].status,
  ),
].sort(([a], [b]) => a - b)

export const renderErrorIndex = (root: string): string => {
  const sections = byStatus.map(([status, codes]) => {
    const rows = codes.map(
      code =>
        `<li><a href="${root}/docs/errors/${code}"><b class="code">${code}</b><span>${escapeHtml(faultText(code))}</span></a></li>`,
    )
    return `<h2>${status} ${statusPhrases[status]}</h2><ul class="rows">${rows.join("")}</ul>`
  })
  return renderPage({
    title: "Errors · Svc",
    root,
    section: "errors",
    main: `<h1>Errors</h1><p class="soft">Every refusal has a <code>code</code> for programs, a text for people, and a <code>docs_url</code> that leads to its page here. The list is closed.</p>${sections.join("")}`,
  })
}

export const errorIndexMarkdown = (baseUrl: string): string => {
  const sections = byStatus.map(([status, codes]) => {
    const rows = codes.map(code => `- [${code}](${baseUrl}/docs/errors/${code}): ${faultText(code)}`)
    return `## ${status} ${statusPhrases[status]}\n\n${rows.join("\n")}`
  })
  return `# Errors\n\n${sections.join("\n\n")}\n`
}
