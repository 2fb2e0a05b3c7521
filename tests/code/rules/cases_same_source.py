"""Reads for each row of what the same database returned, by libraries that no rule knows."""

# ruff: noqa: E101, E501  (snippets of Go; a line of a snippet stays one)

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "call-per-item",
        "typescript",
        """
        import { eq } from "drizzle-orm";
        import { db } from "./db";
        import { courses, lessons } from "./schema";
        export async function syllabus(schoolId: number) {
          const list = await db.select().from(courses).where(eq(courses.schoolId, schoolId)).limit(100);
          const out = [];
          for (const course of list) {
            const items = await db.select().from(lessons).where(eq(lessons.courseId, course.id));
            out.push({ ...course, lessons: items });
          }
          return out;
        }
        """,
        8,
    ),
    bad(
        "call-per-item",
        "typescript",
        """
        import { EntityManager } from "@mikro-orm/core";
        import { Trip, Stop } from "./entities";
        export async function trips(em: EntityManager, driverId: string) {
          const trips = await em.find(Trip, { driver: driverId }, { limit: 100 });
          const out = [];
          for (const trip of trips) {
            const stops = await em.find(Stop, { trip: trip.id });
            out.push({ id: trip.id, stops: stops.length });
          }
          return out;
        }
        """,
        7,
    ),
    bad(
        "call-per-item",
        "rust",
        """
        use diesel::prelude::*;

        pub fn catalogue(conn: &mut PgConnection, shelf: i32) -> QueryResult<Vec<(Book, Vec<Loan>)>> {
            let found = books::table.filter(books::shelf_id.eq(shelf)).select(Book::as_select()).load(conn)?;
            let mut out = Vec::new();
            for book in found {
                let loans = Loan::belonging_to(&book).select(Loan::as_select()).load(conn)?;
                out.push((book, loans));
            }
            Ok(out)
        }
        """,
        7,
    ),
    bad(
        "call-per-item",
        "csharp",
        """
        using Microsoft.EntityFrameworkCore;

        public sealed class DepotService(FleetDb db)
        {
            public async Task<List<DepotView>> OverviewAsync(CancellationToken ct)
            {
                var depots = await db.Depots.OrderBy(d => d.Name).Take(200).ToListAsync(ct);
                foreach (var depot in depots)
                {
                    await db.Entry(depot).Collection(d => d.Vehicles).LoadAsync(ct);
                }
                return depots.Select(d => new DepotView(d.Name, d.Vehicles.Count)).ToList();
            }
        }
        """,
        10,
    ),
    bad(
        "call-per-item",
        "python",
        """
        from tortoise.models import Model
        from .models import Team

        async def standings(league_id: int):
            teams = await Team.filter(league_id=league_id).order_by("name")
            out = []
            for team in teams:
                await team.fetch_related("matches")
                out.append({"team": team.name, "played": len(team.matches)})
            return out
        """,
        8,
    ),
    bad(
        "call-per-item",
        "python",
        """
        async def board(db, league):
            teams = await db.teams.find({"league": league}).to_list(100)
            for team in teams:
                team["last"] = await db.matches.find_one({"team": team["_id"]}, sort=[("played_at", -1)])
            return teams
        """,
        4,
    ),
    bad(
        "call-per-item",
        "java",
        """
        package com.acme;

        import java.util.ArrayList;
        import java.util.List;
        import org.springframework.stereotype.Service;

        @Service
        public class BoardService {
            private final TeamMapper teams;
            private final MatchMapper matches;

            public BoardService(TeamMapper teams, MatchMapper matches) {
                this.teams = teams;
                this.matches = matches;
            }

            public List<TeamRow> board(long leagueId) {
                List<TeamRow> rows = new ArrayList<>();
                for (Team team : teams.findByLeague(leagueId)) {
                    rows.add(new TeamRow(team.getName(), matches.findLast(team.getId())));
                }
                return rows;
            }
        }
        """,
        20,
    ),
    bad(
        "call-per-item",
        "go",
        """
        package fleet

        import (
        	"context"

        	"example.com/fleet/ent"
        	"example.com/fleet/ent/vehicle"
        )

        func Overview(ctx context.Context, client *ent.Client, depot int) ([]View, error) {
        	vehicles, err := client.Vehicle.Query().Where(vehicle.DepotID(depot)).Limit(500).All(ctx)
        	if err != nil {
        		return nil, err
        	}
        	views := make([]View, 0, len(vehicles))
        	for _, v := range vehicles {
        		driver, err := v.QueryDriver().Only(ctx)
        		if err != nil {
        			return nil, err
        		}
        		views = append(views, View{Plate: v.Plate, Driver: driver.Name})
        	}
        	return views, nil
        }
        """,
        17,
    ),
    good(
        "call-per-item",
        "python",
        """
        from collections import defaultdict

        def statement(conn, customer_id):
            with conn.cursor() as cur:
                cur.execute("SELECT id, total FROM invoices WHERE customer_id = %s ORDER BY id LIMIT 200", (customer_id,))
                invoices = cur.fetchall()
                cur.execute("SELECT invoice_id, sku, qty FROM lines WHERE invoice_id = ANY(%s)", ([i for i, _ in invoices],))
                lines = defaultdict(list)
                for invoice_id, sku, qty in cur.fetchall():
                    lines[invoice_id].append((sku, qty))
            return [{"id": i, "total": t, "lines": lines[i]} for i, t in invoices]
        """,
    ),
    good(
        "call-per-item",
        "typescript",
        """
        import type { Repository } from "typeorm";
        export class Sweeper {
          constructor(private readonly jobs: Repository<Job>, private readonly runner: Runner) {}
          async sweep() {
            const due = await this.jobs.find({ where: { state: "due" }, take: 20 });
            for (const job of due) {
              await this.runner.run(job);
              job.state = "done";
              await this.jobs.save(job);
            }
          }
        }
        """,
    ),
]
