/** Which database a page speaks to, and how the first one is made. */
import { useState } from "react"
import { call } from "../../api.ts"
import type { Surroundings } from "../../derived/request.ts"
import { href } from "../../router.ts"
import { useLoaded } from "../../ui/load.ts"
import { Problem } from "../../ui/problem.tsx"

export interface Database {
  readonly id: string
  readonly name: string
  readonly is_default: boolean
}

/** Those of the project; the one of the address, else the project's own. */
export const useDatabases = (surroundings: Surroundings, query: URLSearchParams) => {
  const [version, setVersion] = useState(0)
  const loaded = useLoaded(`${surroundings.project} ${version}`, async () => {
    const { data } = await call<{ readonly data: readonly Database[] }>(
      "listDatabases",
      { limit: 100 },
      surroundings,
      { quiet: true },
    )
    return data
  })
  const databases = loaded.state === "ready" ? loaded.value : undefined
  const chosen =
    databases?.find(({ id }) => id === query.get("database")) ??
    databases?.find(({ is_default }) => is_default) ??
    databases?.[0]
  const error = loaded.state === "failed" ? loaded.reason : undefined
  return { databases, chosen, error, reload: () => setVersion(known => known + 1) }
}

export const DatabaseChoice = ({
  databases,
  chosen,
  onChoose,
}: {
  readonly databases: readonly Database[]
  readonly chosen: string | undefined
  readonly onChoose: (id: string) => void
}) => (
  <select
    aria-label="Database"
    className="narrow"
    value={chosen}
    onChange={event => onChoose(event.target.value)}
  >
    {databases.map(({ id, name }) => (
      <option key={id} value={id}>
        {name}
      </option>
    ))}
  </select>
)

export const NoDatabase = ({
  surroundings,
  onMade,
}: {
  readonly surroundings: Surroundings
  readonly onMade: () => void
}) => {
  const [state, setState] = useState<{ readonly isBusy: boolean; readonly error?: unknown }>({
    isBusy: false,
  })
  const make = async () => {
    setState({ isBusy: true })
    try {
      // The project's own database is made by the first statement that names none.
      await call("executeSql", { sql: "SELECT 1" }, surroundings)
      onMade()
    } catch (error) {
      setState({ isBusy: false, error })
    }
  }
  return (
    <div className="empty">
      <p>
        <strong>This project has no database yet.</strong> Each one is a PostgreSQL of its own, with branches
        and a restore to any second.
      </p>
      <p className="buttons">
        <button type="button" disabled={state.isBusy} onClick={make}>
          {state.isBusy ? "Creating …" : "Create a database"}
        </button>
        <a href={href("api/createDatabase")}>With options</a>
      </p>
      <Problem error={state.error} />
    </div>
  )
}
