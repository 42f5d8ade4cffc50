/** The most that one page of a list holds. */
const PAGE = 200

interface Page<Row> {
  readonly data: readonly Row[]
  readonly total: number
}

/** All rows of a list that comes in pages. */
export const allPages = async <Row>(
  page: (of: { limit: number; offset: number }) => Promise<Page<Row>>,
): Promise<Row[]> => {
  const rows: Row[] = []
  for (;;) {
    const { data, total } = await page({ limit: PAGE, offset: rows.length })
    rows.push(...data)
    if (data.length === 0 || rows.length >= total) return rows
  }
}
