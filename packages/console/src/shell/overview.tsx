/** The first page: what this installation has, and how it is. */
import { send } from "../calls.ts"
import { allOperations, areaOf } from "../derived/manifest.ts"
import { root } from "../root.ts"
import { href } from "../router.ts"
import type { Project, Session } from "../session.ts"
import { useLoaded } from "../ui/load.ts"
import { Prose } from "../ui/text.tsx"
import { Status } from "../ui/value.tsx"

interface ServiceRow {
  readonly name: string
  readonly title: string
  readonly status: string
  readonly reason: string | null
  readonly setting: string | null
}

const loadServices = async (): Promise<readonly ServiceRow[]> => {
  const { status, json } = await send(
    { method: "GET", path: "/api/v1/services", headers: {} },
    { quiet: true },
  )
  if (status !== 200) throw new Error(`The state of the areas cannot be read (${status}).`)
  return (json as { data: { services: ServiceRow[] } }).data.services
}

/** What people do first, with the operation that does it. */
const STEPS = [
  ["listKeys", "API keys", "One bearer key reaches everything; see those of this project."],
  ["createDatabase", "Create a database", "A PostgreSQL of its own, with branches and restores."],
  ["executeSql", "Run a query", "SQL over HTTP, against the project's database."],
  ["createBucket", "Create a bucket", "Files by HTTP or with any S3 client."],
  ["createFunction", "Create a function", "Code that runs when it is called."],
  ["listApprovals", "Approvals", "What agents want to do and may not do alone."],
] as const

const Steps = () => {
  const known = new Set(allOperations().map(({ id }) => id))
  return (
    <ul className="cards">
      {STEPS.filter(([id]) => known.has(id)).map(([id, title, text]) => (
        <li key={id}>
          <a href={href(`api/${id}`)}>
            <strong>{title}</strong>
            <span>{text}</span>
          </a>
        </li>
      ))}
    </ul>
  )
}

const AreaLink = ({ name, title }: { readonly name: string; readonly title: string }) => {
  const area = areaOf(name)
  return area ? <a href={href(`areas/${area.name}`)}>{area.title}</a> : title
}

const Services = () => {
  const services = useLoaded("services", loadServices)
  if (services.state === "loading") return <p className="soft">Loading …</p>
  if (services.state === "failed") return <p className="notice bad">{services.reason}</p>
  const rank = ({ status }: ServiceRow) => (status === "available" ? 1 : 0)
  const rows = [...services.value].sort((one, other) => rank(one) - rank(other))
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by the keyboard
    <section className="table" tabIndex={0} aria-label="State of the areas">
      <table>
        <thead>
          <tr>
            <th scope="col">Area</th>
            <th scope="col">State</th>
            <th scope="col">Why, and what changes it</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, title, status, reason, setting }) => (
            <tr key={name}>
              <td>
                <AreaLink name={name} title={title} />
              </td>
              <td>
                <Status text={status} />
              </td>
              <td className="wide">
                {reason ? <Prose text={reason} /> : <span className="none">–</span>}{" "}
                {setting && <code>{setting}</code>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

export const Overview = ({
  session,
  project,
}: {
  readonly session: Session
  readonly project: Project | undefined
}) => (
  <>
    <h1>Overview</h1>
    <p className="lead">
      {session.organization.name}
      {project && <> · project {project.name}</>}
      {session.organization.plan && <> · plan {session.organization.plan}</>}
    </p>
    <Steps />
    <h2>Areas</h2>
    <Services />
    <p className="soft small">
      <a href={`${root}/docs`} target="_blank" rel="noreferrer">
        API reference
      </a>{" "}
      ·{" "}
      <a href={`${root}/docs/errors`} target="_blank" rel="noreferrer">
        Errors
      </a>{" "}
      · {allOperations().length} operations, each with a page here
    </p>
  </>
)
