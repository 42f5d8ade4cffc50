import { type EvaluationSet, pairs } from "./evaluation.ts"

const setup = `
CREATE TYPE term AS ENUM ('spring', 'summer', 'fall');
CREATE TABLE "Teachers" (id int PRIMARY KEY, "fullName" text NOT NULL, "hiredOn" date NOT NULL, subject text NOT NULL);
CREATE TABLE students (id int PRIMARY KEY, name text NOT NULL, date_of_birth date NOT NULL, grade_level int NOT NULL,
  house text NOT NULL, scholarship boolean NOT NULL, email text);
CREATE TABLE courses (id int PRIMARY KEY, title text NOT NULL, credits int NOT NULL, teacher_id int NOT NULL REFERENCES "Teachers", room text);
CREATE TABLE enrollments (student_id int REFERENCES students, course_id int REFERENCES courses, term term NOT NULL, year int NOT NULL,
  grade numeric(4,1), PRIMARY KEY (student_id, course_id));
CREATE TABLE absences (id int PRIMARY KEY, student_id int NOT NULL REFERENCES students, absent_on date NOT NULL, excused boolean NOT NULL, reason text);
COMMENT ON TABLE absences IS 'missed days';
INSERT INTO "Teachers" SELECT i, (ARRAY['Ms Lopez','Mr Chen','Mrs Okafor','Mr Berg','Ms Ito'])[i], date '2010-08-01' + i * 700,
  (ARRAY['Mathematics','Physics','History','Art','Mathematics'])[i] FROM generate_series(1, 5) i;
INSERT INTO students SELECT i, (ARRAY['Amir','Bella','Cyrus','Dora','Emil','Freya','Gabe','Hana','Igor','Jade','Karl','Lena','Milo','Nora','Omar'])[i],
  date '2005-03-10' + i * 97, 9 + i % 4, (ARRAY['Red','Blue','Green'])[1 + i % 3], i % 4 = 0, CASE WHEN i % 7 = 0 THEN NULL ELSE 's' || i || '@school.test' END
  FROM generate_series(1, 15) i;
INSERT INTO courses SELECT i, (ARRAY['Algebra','Calculus','Mechanics','World History','Painting','Statistics','Optics'])[i], 2 + i % 4,
  (ARRAY[1,1,2,3,3,5,2])[i], CASE WHEN i % 3 = 0 THEN NULL ELSE 'R' || i END FROM generate_series(1, 7) i;
INSERT INTO enrollments SELECT s, 1 + (s * k) % 6, (ARRAY['spring','summer','fall'])[1 + (s + k) % 3]::term, 2022 + (s + k) % 3,
  CASE WHEN (s + k) % 7 = 0 THEN NULL ELSE 50 + (s * 13 + k * 29) % 50 END FROM generate_series(1, 13) s, generate_series(1, 3) k ON CONFLICT DO NOTHING;
INSERT INTO absences SELECT i, 1 + (i * 5) % 12, date '2024-01-08' + i * 4, i % 3 <> 0, CASE WHEN i % 3 = 1 THEN 'flu' WHEN i % 3 = 2 THEN 'travel' END FROM generate_series(1, 40) i;
`

const ec = "enrollments e JOIN courses c ON c.id = e.course_id"

export const school: EvaluationSet = {
  name: "school",
  setup,
  pairs: pairs([
    ["list", "show me every course", "SELECT * FROM courses"],
    ["list", "names of all students", "SELECT name FROM students"],
    ["list", "list the full names of the teachers", `SELECT "fullName" FROM "Teachers"`],
    ["filter", "students in house Red", "SELECT * FROM students WHERE house = 'Red'"],
    ["filter", "students in grade level 10", "SELECT * FROM students WHERE grade_level = 10"],
    ["filter", "students with a scholarship", "SELECT * FROM students WHERE scholarship"],
    ["filter", "students without email", "SELECT * FROM students WHERE email IS NULL"],
    ["filter", "courses with at least 4 credits", "SELECT * FROM courses WHERE credits >= 4"],
    [
      "filter",
      "courses taught by Ms Lopez",
      `SELECT c.* FROM courses c JOIN "Teachers" t ON t.id = c.teacher_id WHERE "fullName" = 'Ms Lopez'`,
    ],
    ["filter", "mathematics teachers", `SELECT * FROM "Teachers" WHERE subject = 'Mathematics'`],
    ["filter", "unexcused absences", "SELECT * FROM absences WHERE NOT excused"],
    ["filter", "absences because of flu", "SELECT * FROM absences WHERE reason = 'flu'"],
    ["filter", "students not in house Blue", "SELECT * FROM students WHERE house <> 'Blue'"],
    ["filter", "courses without a room", "SELECT * FROM courses WHERE room IS NULL"],
    [
      "filter",
      "courses whose title contains 'History'",
      "SELECT * FROM courses WHERE title ILIKE '%history%'",
    ],
    ["filter", "enrollments with a grade of 90 or more", "SELECT * FROM enrollments WHERE grade >= 90"],
    [
      "count",
      "how many students are there in each house?",
      "SELECT house, count(*) FROM students GROUP BY 1",
    ],
    [
      "count",
      "how many students take Algebra?",
      `SELECT count(*) FROM students s WHERE EXISTS (SELECT FROM ${ec} WHERE e.student_id = s.id AND title = 'Algebra')`,
    ],
    [
      "count",
      "how many teachers teach mathematics?",
      `SELECT count(*) FROM "Teachers" WHERE subject = 'Mathematics'`,
    ],
    [
      "count",
      "how many unexcused absences were there in March 2024?",
      "SELECT count(*) FROM absences WHERE NOT excused AND absent_on >= '2024-03-01' AND absent_on < '2024-04-01'",
    ],
    ["aggregate", "average grade in Calculus", `SELECT avg(grade) FROM ${ec} WHERE title = 'Calculus'`],
    ["aggregate", "what is the highest grade?", "SELECT max(grade) FROM enrollments"],
    ["aggregate", "total credits of all courses", "SELECT sum(credits) FROM courses"],
    [
      "aggregate",
      "average grade of Bella",
      "SELECT avg(grade) FROM enrollments e JOIN students s ON s.id = e.student_id WHERE s.name = 'Bella'",
    ],
    ["group", "average grade per course", `SELECT title, avg(grade) FROM ${ec} GROUP BY c.id`],
    ["group", "number of students per grade level", "SELECT grade_level, count(*) FROM students GROUP BY 1"],
    [
      "group",
      "number of courses per teacher",
      `SELECT "fullName", count(*) FROM courses c JOIN "Teachers" t ON t.id = c.teacher_id GROUP BY t.id`,
    ],
    ["group", "number of enrollments by term", "SELECT term, count(*) FROM enrollments GROUP BY 1"],
    [
      "group",
      "absences per month",
      "SELECT date_trunc('month', absent_on)::date, count(*) FROM absences GROUP BY 1",
    ],
    [
      "group",
      "average grade by house",
      "SELECT house, avg(grade) FROM enrollments e JOIN students s ON s.id = e.student_id GROUP BY 1",
    ],
    [
      "group",
      "absences by student",
      "SELECT s.name, count(*) FROM absences a JOIN students s ON s.id = a.student_id GROUP BY s.id",
    ],
    [
      "group",
      "average number of enrollments per student",
      "SELECT avg(n) FROM (SELECT count(*) n FROM enrollments GROUP BY student_id) x",
    ],
    [
      "rank",
      "student with the most absences",
      "SELECT s.name FROM students s JOIN absences a ON a.student_id = s.id GROUP BY s.id ORDER BY count(*) DESC, 1 LIMIT 1",
    ],
    [
      "rank",
      "top 3 students by average grade",
      "SELECT s.name FROM students s JOIN enrollments e ON e.student_id = s.id GROUP BY s.id ORDER BY avg(grade) DESC NULLS LAST LIMIT 3",
    ],
    ["rank", "the oldest student", "SELECT * FROM students ORDER BY date_of_birth LIMIT 1"],
    [
      "rank",
      "which course has the most students?",
      "SELECT c.title FROM enrollments e JOIN courses c ON c.id = e.course_id GROUP BY c.id ORDER BY count(*) DESC LIMIT 1",
    ],
    ["rank", "courses sorted by title", "SELECT * FROM courses ORDER BY title"],
    [
      "rank",
      "which house has the most students with a scholarship?",
      "SELECT house FROM students WHERE scholarship GROUP BY 1 ORDER BY count(*) DESC LIMIT 1",
    ],
    ["first per", "best grade in each course", `SELECT c.title, max(grade) FROM ${ec} GROUP BY c.id`],
    [
      "first per",
      "youngest student in each house",
      "SELECT DISTINCT ON (house) * FROM students ORDER BY house, date_of_birth DESC",
    ],
    [
      "date",
      "students born in 2006",
      "SELECT * FROM students WHERE date_of_birth >= '2006-01-01' AND date_of_birth < '2007-01-01'",
    ],
    [
      "date",
      "absences in the last 3 months",
      "SELECT * FROM absences WHERE absent_on >= '2024-03-15' AND absent_on < '2024-06-16'",
    ],
    ["date", "teachers hired before 2015", `SELECT * FROM "Teachers" WHERE "hiredOn" < '2015-01-01'`],
    [
      "existence",
      "students not enrolled in any course",
      "SELECT * FROM students s WHERE NOT EXISTS (SELECT FROM enrollments e WHERE e.student_id = s.id)",
    ],
    [
      "existence",
      "courses with no students",
      "SELECT * FROM courses c WHERE NOT EXISTS (SELECT FROM enrollments e WHERE e.course_id = c.id)",
    ],
    [
      "existence",
      "teachers who do not teach any courses",
      `SELECT * FROM "Teachers" t WHERE NOT EXISTS (SELECT FROM courses c WHERE c.teacher_id = t.id)`,
    ],
    [
      "existence",
      "students who were never absent",
      "SELECT * FROM students s WHERE NOT EXISTS (SELECT FROM absences a WHERE a.student_id = s.id)",
    ],
    [
      "existence",
      "students enrolled in Painting",
      `SELECT * FROM students s WHERE EXISTS (SELECT FROM ${ec} WHERE e.student_id = s.id AND title = 'Painting')`,
    ],
    [
      "having",
      "students with more than 3 absences",
      "SELECT * FROM students s WHERE (SELECT count(*) FROM absences a WHERE a.student_id = s.id) > 3",
    ],
    [
      "having",
      "teachers with two or more courses",
      `SELECT * FROM "Teachers" t WHERE (SELECT count(*) FROM courses c WHERE c.teacher_id = t.id) >= 2`,
    ],
    [
      "having",
      "students with an average grade above 80",
      "SELECT * FROM students s WHERE (SELECT avg(grade) FROM enrollments e WHERE e.student_id = s.id) > 80",
    ],
    [
      "percentage",
      "what percentage of absences are excused?",
      "SELECT round(100.0 * count(*) FILTER (WHERE excused) / count(*), 2) FROM absences",
    ],
    [
      "percentage",
      "share of students by house",
      "SELECT house, round(100.0 * count(*) / sum(count(*)) OVER (), 2) FROM students GROUP BY 1",
    ],
    [
      "join",
      "courses and their teachers",
      `SELECT c.*, t."fullName" FROM courses c JOIN "Teachers" t ON t.id = c.teacher_id`,
    ],
    [
      "join",
      "absences of students in house Green",
      "SELECT a.* FROM absences a JOIN students s ON s.id = a.student_id WHERE house = 'Green'",
    ],
    [
      "comparison",
      "compare the number of absences in March 2024 and April 2024",
      "SELECT count(*) FILTER (WHERE absent_on >= '2024-03-01' AND absent_on < '2024-04-01'), count(*) FILTER (WHERE absent_on >= '2024-04-01' AND absent_on < '2024-05-01') FROM absences",
    ],
  ]),
}
