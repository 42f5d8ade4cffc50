/** An area: its lists first, then everything that it can do. */
import { titleOf } from "../derived/labels.ts"
import { operationsOf, paramsOf } from "../derived/manifest.ts"
import type { AreaRow, OperationRow } from "../model.ts"
import { href } from "../router.ts"
import { Prose } from "../ui/text.tsx"

const KINDS = [
  ["r", "Read"],
  ["w", "Make and change"],
  ["d", "Delete"],
] as const

/** Parameters that the console knows without asking. */
const KNOWN = new Set(["tenant_id", "org_id", "project_id"])

const isEntry = ({ isList, path, method, caller }: OperationRow): boolean =>
  isList && method === "GET" && caller === "s" && paramsOf(path).every(name => KNOWN.has(name))

const entryTitle = (summary: string): string =>
  titleOf(summary)
    .replace(/^List (?:the |all )?/, "")
    .replace(/,.*$/, "")
    .replace(/^./, first => first.toUpperCase())

const Operations = ({
  operations,
  label,
}: {
  readonly operations: readonly OperationRow[]
  readonly label: string
}) => (
  <ul className="operations" aria-label={label}>
    {operations.map(({ id, effect, method, path, summary }) => (
      <li key={id}>
        <a href={href(`api/${id}`)}>
          <span className={`method ${effect}`}>{method}</span>
          <span className="what">{titleOf(summary)}</span>
          <code>{path}</code>
        </a>
      </li>
    ))}
  </ul>
)

export const AreaPage = ({ area }: { readonly area: AreaRow }) => {
  const operations = operationsOf(area)
  const entries = operations.filter(isEntry)
  return (
    <>
      <h1>{area.title}</h1>
      <p className="lead">
        <Prose text={area.summary} />
      </p>
      {entries.length > 0 && (
        <ul className="cards">
          {entries.map(({ id, summary }) => (
            <li key={id}>
              <a href={href(`api/${id}`)}>
                <strong>{entryTitle(summary)}</strong>
              </a>
            </li>
          ))}
        </ul>
      )}
      {KINDS.map(([effect, title]) => {
        const own = operations.filter(operation => operation.effect === effect)
        return own.length === 0 ? null : (
          <section key={effect} aria-label={title}>
            <h2>{title}</h2>
            <Operations operations={own} label={title} />
          </section>
        )
      })}
    </>
  )
}
