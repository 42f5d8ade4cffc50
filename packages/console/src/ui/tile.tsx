import type { ReactNode } from "react"

/** One number, what it is, and where its parts are. */
export const Tile = ({
  title,
  note,
  to,
  children,
}: {
  readonly title: string
  readonly note?: string | undefined
  readonly to?: string | undefined
  readonly children: ReactNode
}) => {
  const inner = (
    <>
      <span className="soft small">{title}</span>
      <strong className="number">{children}</strong>
      {note && <span className="soft small">{note}</span>}
    </>
  )
  return (
    <li>
      {to ? (
        <a className="tile" href={to}>
          {inner}
        </a>
      ) : (
        <div className="tile">{inner}</div>
      )}
    </li>
  )
}
