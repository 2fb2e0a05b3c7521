"""Repositories, services and caches that are asked once for every item."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_PER_ITEM = "call-per-item"

CASES = [
    bad(_PER_ITEM, "python", """
        class Overview:
            def __init__(self, courses, seats):
                self.courses = courses
                self.seats = seats

            async def rows(self, term):
                courses = await self.courses.of_term(term)
                return [(course.title, await self.seats.count_by_course(course.id)) for course in courses]
        """, 8),
    good(_PER_ITEM, "python", """
        class Overview:
            def __init__(self, courses):
                self.courses = courses
                self.names_by_id = {}

            async def rows(self, term):
                courses = await self.courses.of_term(term)
                return [self.names_by_id.get(course.id) for course in courses]
        """),
    bad(_PER_ITEM, "python", """
        import httpx

        class Addresses:
            def __init__(self, client: httpx.AsyncClient):
                self.client = client

            async def fill(self, orders):
                for order in orders:
                    order["address"] = await self.client.get(f"/addresses/{order['address_id']}")
        """, 9),
    bad(_PER_ITEM, "python", """
        import redis

        r = redis.Redis(socket_timeout=2)

        def online(user_ids):
            found = []
            for each in user_ids:
                if r.exists(f"online:{each}"):
                    found.append(each)
            return found
        """, 8),
    good(_PER_ITEM, "python", """
        import redis

        r = redis.Redis(socket_timeout=2)

        def online(user_ids):
            pipe = r.pipeline()
            for each in user_ids:
                pipe.exists(f"online:{each}")
            return pipe.execute()
        """),
    bad(_PER_ITEM, "go", """
        package a

        import "context"

        type Names struct{ customers Customers }

        func (n *Names) Of(ctx context.Context, orders []Order) ([]string, error) {
        	names := []string{}
        	for _, order := range orders {
        		customer, err := n.customers.ByID(ctx, order.CustomerID)
        		if err != nil {
        			return nil, err
        		}
        		names = append(names, customer.Name)
        	}
        	return names, nil
        }
        """, 10),
    good(_PER_ITEM, "go", """
        package a

        import "context"

        type Names struct{ encoder Encoder }

        func (n *Names) Of(ctx context.Context, orders []Order) ([]string, error) {
        	names := []string{}
        	for _, order := range orders {
        		name, err := n.encoder.Encode(ctx, order.CustomerID)
        		if err != nil {
        			return nil, err
        		}
        		names = append(names, name)
        	}
        	return names, nil
        }
        """),
    bad(_PER_ITEM, "java", """
        import java.util.List;

        class Catalog {
            private final CourseDao courses;
            private final TeacherDao teachers;

            List<String> page(int number) {
                List<Course> found = courses.page(number, 100);
                return found.stream().map(course -> teachers.findById(course.teacherId()).name()).toList();
            }
        }
        """, 9),
    bad(_PER_ITEM, "rust", """
        impl Overview {
            pub async fn page(&self, number: u32) -> anyhow::Result<Vec<View>> {
                let courses = self.courses.page(number, 100).await?;
                let mut views = Vec::new();
                for course in courses {
                    let teacher = self.teachers.find_by_id(course.teacher_id).await?;
                    views.push(View { title: course.title, teacher: teacher.name });
                }
                Ok(views)
            }
        }
        """, 6),
]  # fmt: skip
